"""Helpers that know nothing about logs: caches, atomic file writes, JSON files, tables, HTML.

Every other package may import this one; it may import only `tracklight.errors`, and `frames` also
`tracklight.types`.

- `lru_cache` and `file_cache`: size-bounded caches in memory and on disk.
- `files` and `json_file`: atomic writes, and a JSON file shared between processes.
- `frames`: tables that convert to pandas, Polars and Arrow.
- `html`: representations for notebook cells.
- `memory`: byte sizes as text, and returning freed memory to the system.
"""
