"""Helpers that know nothing about logs: caches, atomic file writes, JSON files, hashes, HTML.

Every other package may import this one; it may import only `tracklight.errors`.

- `lru_cache` and `file_cache`: size-bounded caches in memory and on disk.
- `files` and `json_file`: atomic writes, and a JSON file shared between processes.
- `html`: representations for notebook cells.
- `memory`: byte sizes as text, and returning freed memory to the system.
"""
