"""A small scripted agent with real tools, and the hooks that watch over it."""
