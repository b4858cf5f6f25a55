"""Searching a subgoal until its check fires once (SDG, section 4.3)."""
