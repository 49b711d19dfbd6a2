"""Rules on scalars, and who is told when one of them is broken."""
