"""Hookline inside the agent frameworks people use; one module a framework, and a table of them."""
