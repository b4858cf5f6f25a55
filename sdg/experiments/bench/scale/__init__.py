"""What running on many machines costs and loses: `sdg bench scale`."""
