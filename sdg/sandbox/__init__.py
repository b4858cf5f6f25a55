"""Where generated code runs: a guard inside the process, walls around it."""
