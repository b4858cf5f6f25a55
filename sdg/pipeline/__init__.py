"""Stages 1 to 3 over a run folder: the plan of a run, its journals, its finished and its missing units."""
