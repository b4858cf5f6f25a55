"""The texts about the ant's worlds in prompts."""
