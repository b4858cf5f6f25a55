"""The gate's guards: rollouts with mistakes in them, training on these, and how often each guard is right."""
