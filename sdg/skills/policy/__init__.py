"""Policies that play a skill, as plain arrays."""
