"""Stage 2: what was hypothesised is tried in the world (SDG, section 4.3)."""
