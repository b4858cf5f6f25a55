"""The batched engine beside minigrid: exactness, speed, learning on it."""
