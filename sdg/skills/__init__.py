"""Subgoals, check functions, learning, experience, clustering and the skill library."""

if __name__ != "sdg.skills":
    raise ImportError(f"{__name__} is a link for readers: import sdg.skills")
