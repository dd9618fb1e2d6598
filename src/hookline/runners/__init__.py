"""What runs a hook: one runner for each kind of action."""
