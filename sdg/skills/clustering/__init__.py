"""Subgoals as points, k-means over them, and a review of its clusters (SDG, section 4.4)."""
