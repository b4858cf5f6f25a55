"""Stage 2: hypotheses are tried in the world (SDG, section 4.3)."""
