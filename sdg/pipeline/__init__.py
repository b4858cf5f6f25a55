"""Stages 1 to 3 over a run folder: the plan of a run, its journals, what is done and what is left."""
