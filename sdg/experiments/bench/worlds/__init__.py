"""Worlds of torques: what skills are worth where moves can't be programmed."""
