"""How skills are learned."""
