"""BabyAI as skills are practised in it: rows of engine and memory, what a policy sees of them, what it may do."""
