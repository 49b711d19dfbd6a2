"""What a program waited for when it waited for its input."""
