"""The responsible gate: `feasible` before and `complete` after every command."""
