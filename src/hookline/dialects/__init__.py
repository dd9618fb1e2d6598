"""The formats hooks are written in, and what each puts on the wire."""
