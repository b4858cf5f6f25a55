"""Servers that speak OpenAI's chat protocol."""
