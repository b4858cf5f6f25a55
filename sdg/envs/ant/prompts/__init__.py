"""What prompts say of the ant's worlds."""
