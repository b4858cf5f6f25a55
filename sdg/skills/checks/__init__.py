"""Check functions: asked about snapshots, tested for health, lowered to a batched reward (SDG, section 4.2)."""
