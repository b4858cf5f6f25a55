"""What `import sdg` gives: worlds to act in, skills from one's own checks, tables of a run, stable-baselines3."""
