"""Stage 3: verified subgoals become named, practised skills in a library (SDG, section 4.4)."""
