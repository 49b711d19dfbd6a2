"""Shards on Ray for ``pytest --cluster local:2``, whose processes serve one log after another.

Starting the process of an actor takes more time than most tests. A closed shard therefore leaves
its process to the next log.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tracklight.index.cluster import MAX_CONCURRENCY, ShardActor, ShardSettings
from tracklight.index.cluster.connection import Cluster, ClusterAddress

#: Every program of Ray imports ``jsonschema``, which imports ``rfc3987_syntax`` if it is installed,
#: as for Jupyter: 1.8 of 2.2 seconds of CPU time, in each of ten processes. A module in this folder
#: stands in for it, and ``jsonschema`` does without.
_RAY_PATH = Path(__file__).parent / "ray_path"


def patch_ray_path(patch: pytest.MonkeyPatch) -> None:
    """Let Ray start faster from now on."""
    patch.syspath_prepend(str(_RAY_PATH))
    paths = [str(_RAY_PATH), *filter(None, [os.environ.get("PYTHONPATH")])]
    patch.setenv("PYTHONPATH", os.pathsep.join(paths))


class ReusableShardActor(ShardActor):
    """A shard without a log until `open` is called."""

    def __init__(self) -> None:
        pass

    def open(self, settings: ShardSettings, environment: Mapping[str, str]) -> None:
        """Become a new shard, in the environment that the test has set up."""
        os.environ.clear()
        os.environ.update(environment)
        super().__init__(settings)


class ShardPool:
    """Processes of shards that no log uses.

    It has the members of the module ``ray``, but keeps the processes that are to be ended.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._all: list[Any] = []
        self._unused: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ray, name)

    def kill(self, actor: Any) -> None:
        if actor in self._all:
            self._unused.append(actor)
        else:
            self._ray.kill(actor)

    def take(self, settings: ShardSettings) -> Any:
        if not self._unused:
            remote = self._ray.remote(ReusableShardActor)
            actor = remote.options(num_cpus=0, max_concurrency=MAX_CONCURRENCY).remote()
            self._all.append(actor)
            self._unused.append(actor)
        actor = self._unused.pop()
        self._ray.get(actor.open.remote(settings, dict(os.environ)))
        return actor


class PooledCluster(Cluster):
    """A connection to Ray that takes its shards from a pool."""

    def __init__(self, address: ClusterAddress, pool: ShardPool | None = None) -> None:
        super().__init__(address)
        self.ray = self._pool = pool or ShardPool(self.ray)

    @property
    def pool(self) -> ShardPool:
        return self._pool

    def _create_actor(self, settings: ShardSettings, number: int) -> Any:
        return self._pool.take(settings)
