"""Shards of the index as Ray actors, on this machine or on a cluster.

May import `tracklight.index`, but not its `catalog`, which uses this package. Ray is an optional
dependency (extra ``ray``) and is imported when `--cluster` is given.

- `connection`: parses ``--cluster``, connects to Ray and starts the shards; start reading here.
- `remote_shard`: the side of the server. A `RemoteShard` has the methods of `Shard`; a
  `ShardMonitor` finds actors that died or hang and has the runs of a new one read again.
- `actor`: the process of a shard.
- `assignment`: which shard has which run.
- `shared_cache`: cache files in a folder or object store that servers and shards exchange.
"""
