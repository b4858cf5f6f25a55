"""Costs and losses of running on many machines: `sdg bench scale`."""
