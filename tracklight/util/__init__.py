"""Helpers that know nothing about logs: caches, atomic file writes, JSON files, tables, HTML.

Every other package may import this one; it may import only `tracklight.errors`, and `frames` also
`tracklight.types`.

- `lru_cache`: size-bounded caches in memory.
- `files`: atomic writes, a cache on disk, names, hashes and per-user folders.
- `json_file`: a JSON file shared between processes.
- `frames`: tables that convert to pandas, Polars and Arrow.
- `html`: representations for notebook cells.
- `memory`: byte sizes as text, and returning freed memory to the system.
"""
