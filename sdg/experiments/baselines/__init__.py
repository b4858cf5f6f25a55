"""Agents and learners that ours are compared with: the BabyAI paper's model, flat PPO, stable-baselines3."""
