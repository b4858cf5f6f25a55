"""The hand-written planner: programs that people wrote for the stand-in to hand out. Real models see none of it."""
