"""Coverage-guided fuzzing of what reads untrusted bytes: ``python -m tests.fuzz --seconds 600``."""
