from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.index.cluster.test_equal_results import write_runs
from tests.shard_pool import patch_ray_path
from tracklight.index.catalog import Catalog
from tracklight.index.cluster.connection import Cluster, parse_cluster
from tracklight.logdir.access import parse_roots

OpenCluster = Callable[..., Catalog]


@pytest.fixture(scope="session")
def ray_address() -> Iterator[str]:
    """Start Ray, which takes seconds, for all tests; clusters use it instead of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch_ray_path(patch)
        ray: Any = pytest.importorskip("ray")
        cluster = Cluster(parse_cluster("local:2"))
        yield ray.get_runtime_context().gcs_address
        cluster.close()


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write_runs(tmp_path / "logs")
    return tmp_path / "logs"


@pytest.fixture
def open_cluster(ray_address: str) -> Iterator[OpenCluster]:
    """Return a function that opens a log with two shards, closed at the end of the test.

    With ``is_shared``, it uses the shards of other servers, as with ``--cluster auto``.
    """
    opened: list[Catalog] = []

    def open_catalog(
        logdir: Path, *, timeout_s: float = 60.0, is_shared: bool = False, **options: Any
    ) -> Catalog:
        cluster = Cluster(parse_cluster("auto" if is_shared else "local:2", 2), timeout_s)
        options = {"cache": False, "memory_bytes": 64 << 20, **options}
        catalog = Catalog(parse_roots(logdir), cluster=cluster, **options)
        opened.append(catalog)
        catalog.refresh()
        return catalog

    yield open_catalog
    for catalog in opened:
        catalog.close()
