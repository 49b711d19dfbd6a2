"""What was taken of memory, given back, and kept."""
