"""Worlds, and what can be perceived in them. Imports nothing else of this project."""
