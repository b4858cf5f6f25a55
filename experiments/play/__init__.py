"""Agents that play: recipes, episodes in parallel, one instruction of one's own."""
