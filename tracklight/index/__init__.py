"""The index of a log: runs, tags and series read from event files, cached on disk.

May import `tracklight.formats`, `tracklight.logdir`, `tracklight.types`, `tracklight.errors` and
`tracklight.util`.

Storage, from the top down:

- `catalog`: the index of a whole log; start reading here.
- `shard`: the runs of a log that one lock protects; reads files and answers queries.
- `run` and `tags`: assemble series and list tags from the event files of a run.
- `event_file`: what was read from one event file, and reading on when it grows.
- `blocks`, `pack`, `cache`: columns in memory and in the on-disk cache.

Queries:

- `series_query`: choose an axis, smoothing and a baseline for a series, giving a `Curve`.
- `downsampling`: sample a curve, or reduce it to pixels.
- `loops`: the inner loops of these, compiled (`_loops`) or in NumPy.
"""
