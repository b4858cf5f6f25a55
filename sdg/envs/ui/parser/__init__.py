"""The screen parser: a screenshot becomes elements with kinds, words and boxes. Pixels in, nothing else."""
