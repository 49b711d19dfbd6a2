"""Plain arithmetic on columns: numbers told apart, nesting, sets of times, time divided."""
