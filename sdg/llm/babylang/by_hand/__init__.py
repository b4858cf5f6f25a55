"""The hand-written planner: programs that people wrote for babylang to reply with. Real models see none of it."""
