"""The settings of a run: YAML, the classes that it fills, and the objects that they name."""
