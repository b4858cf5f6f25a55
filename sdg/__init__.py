"""Self-driven grounding: the four stages, the language model, the gate and the executor."""
