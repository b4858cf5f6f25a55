"""What prompts say of the table."""
