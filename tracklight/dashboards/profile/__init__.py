"""The Profile dashboard: where the time and the memory of a program went."""
