"""Shards of the index as Ray actors, on this machine or on a cluster.

May import `tracklight.index`, but not its `catalog`, which uses this package. Ray is an optional
dependency (extra ``ray``) and is imported when `--cluster` is given.

- `connection`: parses ``--cluster``, connects to Ray and starts the shards; start reading here.
- `remote_shard`: the side of the server. A `RemoteShard` has the methods of `Shard`; a
  `ShardMonitor` finds actors that died or hang and has the runs of a new one read again.
- `actor`: the process of a shard.
- `shared_cache`: cache files in a folder or object store that servers and shards exchange.

`assign_runs` decides which shard has which run.
"""

from __future__ import annotations

from collections.abc import Mapping

#: Added to the size of each run, so that many small runs are spread as well.
_RUN_OVERHEAD_BYTES = 16 << 10

#: Runs move only if the largest shard exceeds the mean by this share and by this many bytes,
#: because the new shard has to read them again.
_MAX_EXCESS = 0.5
_MIN_EXCESS_BYTES = 256 << 20


def assign_runs(
    sizes: Mapping[str, int], current: Mapping[str, int], shards: int
) -> dict[str, int]:
    """Return the number of the shard of each run.

    Runs stay where they are. New ones, the largest first, go to the shard with the fewest bytes.
    If a shard has grown far above the mean, its runs move to the smallest one.

    Args:
        sizes: The size of each run in bytes.
        current: The shard of the runs that have one.
        shards: The number of shards.

    Example:
        >>> assign_runs({"a": 900_000, "b": 500_000, "c": 300_000}, {}, 2)
        {'a': 0, 'b': 1, 'c': 1}
    """
    if shards == 1:
        return dict.fromkeys(sizes, 0)
    costs = {run: size + _RUN_OVERHEAD_BYTES for run, size in sizes.items()}
    assigned = {run: current[run] for run in sizes if run in current}
    loads = [0] * shards
    for run, shard in assigned.items():
        loads[shard] += costs[run]
    new = (run for run in sizes if run not in assigned)
    for run in sorted(new, key=lambda run: (-costs[run], run)):
        shard = loads.index(min(loads))
        assigned[run] = shard
        loads[shard] += costs[run]
    _balance(assigned, costs, loads)
    return {run: assigned[run] for run in sizes}


def _balance(assigned: dict[str, int], costs: Mapping[str, int], loads: list[int]) -> None:
    """Move runs from the largest shard to the smallest one while that makes them more equal."""
    mean = sum(loads) / len(loads)
    limit = mean + max(_MAX_EXCESS * mean, _MIN_EXCESS_BYTES)
    while max(loads) > limit:
        source, target = loads.index(max(loads)), loads.index(min(loads))
        gap = loads[source] - loads[target]
        fitting = [run for run, shard in assigned.items() if shard == source and costs[run] < gap]
        if not fitting:
            return
        run = min(fitting, key=lambda run: (abs(gap - 2 * costs[run]), run))
        assigned[run] = target
        loads[source] -= costs[run]
        loads[target] += costs[run]
