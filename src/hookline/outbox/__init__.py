"""Durable delivery: runs of hooks that survive the death of whoever started them."""
