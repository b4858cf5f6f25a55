"""What a run is told: YAML, models of it, and the objects that they name."""
