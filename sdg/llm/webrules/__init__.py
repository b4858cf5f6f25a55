"""webrules: an offline, rule-based planner for screens in a model's place. It reads a prompt's text alone."""
