"""The skill library and its place on disk."""
