"""babylang: the offline stand-in for a language model. It is rule-based: it reads a prompt's text, nothing else."""
