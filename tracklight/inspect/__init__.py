"""What is in a log, for people at a terminal or as JSON for programs."""
