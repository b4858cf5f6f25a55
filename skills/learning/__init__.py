"""PPO: the learner of skills, and those that it is compared with."""
