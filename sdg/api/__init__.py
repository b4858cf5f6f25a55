"""What `import sdg` provides: worlds to act in, skills from your own checks, the gate, a desktop, tables of a run,
stable-baselines3."""
