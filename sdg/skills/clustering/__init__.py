"""Subgoals as points, k-means over them, and a second look at what it found (SDG, section 4.4)."""
