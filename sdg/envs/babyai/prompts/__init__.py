"""What prompts say of BabyAI (`sdg.envs.domain.TEXTS`)."""
