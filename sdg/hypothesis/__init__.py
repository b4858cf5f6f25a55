"""Stage 1: a model guesses subgoals and writes their check functions (SDG, section 4.2)."""
