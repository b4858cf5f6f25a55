"""The agent that works from screenshots: a model reads the screen, names commands, and the gate stands before each."""
