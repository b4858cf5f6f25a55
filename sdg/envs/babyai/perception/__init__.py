"""The robot's memory of its views, and the perception functions that read it."""
