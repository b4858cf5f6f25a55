"""Subgoals, check functions, learning, experience, clustering and the skill library."""
