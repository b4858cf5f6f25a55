"""A language model behind different interfaces: episodes drawn once, kept small, counted and played again."""
