"""A page on this machine for people who would rather look: `sdg app`."""
