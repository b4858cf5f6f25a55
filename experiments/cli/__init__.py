"""The `sdg` command."""
