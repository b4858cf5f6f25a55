"""The texts about the table in prompts."""
