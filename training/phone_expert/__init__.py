"""An expert that solves each task of the embedded phone by a script, and a search for shortest paths."""
