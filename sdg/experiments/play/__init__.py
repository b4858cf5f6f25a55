"""Agents that play: recipes, episodes in parallel, one instruction of the user's."""
