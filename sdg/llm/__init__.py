"""Language models behind one protocol, and wrappers that add transcripts, caches and budgets."""
