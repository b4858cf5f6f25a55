"""babylang: an offline, rule-based planner in a language model's place. It reads a prompt's text, nothing else."""
