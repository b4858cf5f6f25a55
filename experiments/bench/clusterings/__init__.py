"""How well embeddings and clusterings find the true kinds of subgoals."""
