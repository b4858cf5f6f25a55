"""Where a skill is practised: its starts, its environment, its training (SDG, section 4.4)."""
