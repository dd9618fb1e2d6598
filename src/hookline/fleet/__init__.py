"""Durable hooks delivered over PostgreSQL: stored here, run by workers elsewhere."""
