"""`sdg compose`: composed skills from the programs of a recorded run, verified on other layouts and kept as source."""
