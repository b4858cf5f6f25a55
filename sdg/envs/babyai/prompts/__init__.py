"""The texts about BabyAI in prompts (`sdg.envs.domain.TEXTS`)."""
