"""What prompts say of BabyAI (`sdg.envs.world.TEXTS`)."""
