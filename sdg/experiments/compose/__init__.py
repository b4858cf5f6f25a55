"""`sdg compose`: composed skills from the programs of a draw or a run, verified on other layouts and kept as source."""
