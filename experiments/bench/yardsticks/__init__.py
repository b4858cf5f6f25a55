"""Measures that see the hidden state: for figures alone, they choose no start, no stop, no reward."""
