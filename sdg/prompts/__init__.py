"""Prompts as files, how they are filled, and how replies are read."""
