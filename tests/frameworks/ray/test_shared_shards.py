"""Several servers of a log use the same shards of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests import builders as b
from tests.frameworks.ray.conftest import OpenCluster
from tests.frameworks.ray.test_cluster import describe, is_replaced, kill, list_processes
from tests.index import logs
from tests.server.waiting import wait_until
from tracklight.index.catalog import Catalog
from tracklight.index.cluster import ShardSettings, _end_actor
from tracklight.index.cluster.connection import Cluster, parse_cluster

Open = Callable[..., Catalog]


@pytest.fixture
def open_server(open_cluster: OpenCluster, logdir: Path) -> Open:
    """Return a function that opens the log like a server that was given ``--cluster auto``."""
    return partial(open_cluster, logdir, is_shared=True)


def test_servers_share_processes_and_runs(open_server: Open, logdir: Path) -> None:
    one, two = open_server(), open_server()
    assert list_processes(one) == list_processes(two)
    assert describe(one) == describe(two)
    alone = logs.open_catalog(logdir)
    assert describe(alone) == describe(two)
    alone.close()


def test_every_server_follows_changes(open_server: Open, logdir: Path) -> None:
    one, two = open_server(), open_server()
    logs.append(logdir / "run-3/events.out.tfevents.1", b.scalar("loss", 900, 1.0))
    logs.write(logdir, "new", logs.points(range(3)))
    for server in (one, two):
        delta = server.refresh()
        assert (delta.added, delta.changed) == (("new",), ("run-3",))
        assert server.scalar("run-3", "loss").step[-1] == 900
        assert server.refresh().changed == ()


def test_shards_outlive_the_server_that_started_them(open_server: Open) -> None:
    one, two = open_server(), open_server()
    before, pids = describe(two), list_processes(two)
    one.close()
    assert describe(two) == before
    assert list_processes(two) == pids
    two.close()
    three = open_server()
    assert set(list_processes(three).values()).isdisjoint(pids.values())
    assert describe(three) == before


def test_every_server_recovers_from_a_kill(open_server: Open) -> None:
    servers = [open_server(), open_server()]
    before, pids = describe(servers[0]), list_processes(servers[0])
    kill(pids[0])
    for server in servers:
        wait_until(partial(is_replaced, server, 0, pids[0]))
        assert describe(server) == before
    assert list_processes(servers[0]) == list_processes(servers[1])


def test_servers_with_other_flags_have_shards_of_their_own(ray_address: str) -> None:
    """The settings are part of the name of an actor."""
    cluster = Cluster(parse_cluster("auto", 2))
    settings = ShardSettings(("logs",), False, 1, 1 << 20)
    names = {
        cluster.make_actor_name(settings, 0),
        cluster.make_actor_name(settings, 1),
        cluster.make_actor_name(ShardSettings(("logs",), False, 1, 2 << 20), 0),
        cluster.make_actor_name(ShardSettings(("other",), False, 1, 1 << 20), 0),
    }
    assert len(names) == 4


class UnusedActor:
    """Ends itself as a shard without servers does."""

    def end(self) -> None:
        _end_actor()

    def ping(self) -> bool:
        return True


def test_unused_actor_ends_itself(ray_address: str) -> None:
    import ray

    unused: Any = ray.remote(UnusedActor).options(num_cpus=0, max_restarts=-1).remote()
    assert ray.get(unused.ping.remote())
    unused.end.remote()

    def has_ended() -> bool:
        try:
            ray.get(unused.ping.remote(), timeout=5)
        except ray.exceptions.ActorDiedError:
            return True
        except ray.exceptions.RayError:
            return False
        return False

    wait_until(has_ended)
