"""BabyAI: the first world. The only room that imports minigrid."""
