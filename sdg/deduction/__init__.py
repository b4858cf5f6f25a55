"""Stage 4: programs over skills, run and debugged against the world (SDG, section 4.5)."""
