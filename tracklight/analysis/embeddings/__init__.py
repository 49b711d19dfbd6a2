"""Vectors that a log holds: where they are, what each is called, and what it looks like."""
