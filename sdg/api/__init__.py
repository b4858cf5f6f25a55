"""What `import sdg` provides: worlds to act in, skills from your own checks, tables of a run, stable-baselines3."""
