"""Hook folders: one folder a hook, with its spec, its state and its history."""
