"""Stands in for a package that takes long to import; see `tests.shard_pool`."""

raise ImportError("not needed by Ray")
