"""Helpers that know nothing about logs: caches, files, tables, HTML.

Every other package may import this one; it may import only `tracklight.errors`, and `frames` also
`tracklight.types`.

- `files`: atomic writes, JSON files shared between processes, a cache on disk, per-user folders.
- `frames`: tables that convert to pandas, Polars and Arrow.
- `html`: representations for notebook cells.
- `memory`: size-bounded caches, byte sizes as text, and returning freed memory to the system.
- `parsing`: the base of expression parsers, JSON, and the user's line in stack traces.
"""
