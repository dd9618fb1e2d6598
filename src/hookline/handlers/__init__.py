"""Hooks that are Python functions in the agent's own process: how they are found, registered, called and heard."""
