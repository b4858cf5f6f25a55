"""webrules: the offline stand-in for a model that operates screens. Rule-based: it reads a prompt's text alone."""
