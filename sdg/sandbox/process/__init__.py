"""Supervised processes with limits and walls for code that may hang, crash or lie."""
