"""Coverage-guided fuzzing of parsers of untrusted files: ``python -m tests.fuzz --seconds 600``."""
