"""A run as a page: plots, films, tables."""
