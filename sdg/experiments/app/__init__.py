"""A local web page for people who would rather look than type: `sdg app`."""
