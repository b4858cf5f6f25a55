"""BabyAI as skills are practised in it: rows of engine and memory, the inputs of a policy, and its actions."""
