"""A copy of a board that opens without a server: a folder, or one HTML file."""
