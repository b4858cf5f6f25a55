"""Comparisons of agents as tables."""
