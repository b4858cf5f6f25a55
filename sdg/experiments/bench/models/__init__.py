"""A language model behind different interfaces: episodes recorded once, stored compactly, counted and replayed."""
