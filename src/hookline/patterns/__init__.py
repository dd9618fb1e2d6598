"""Patterns of several languages, each with a bound on the time it takes: those of Python, and those of Go and Rust."""
