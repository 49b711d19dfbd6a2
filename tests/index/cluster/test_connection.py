"""What --cluster accepts, and what it needs."""

from __future__ import annotations

import sys

import pytest

from tracklight.errors import MissingDependencyError, UsageError
from tracklight.index.cluster.connection import Cluster, ClusterAddress, parse_cluster


def test_parses_addresses() -> None:
    assert parse_cluster("local:4") == ClusterAddress("local:4", True, 4)
    assert parse_cluster("auto") == ClusterAddress("auto", False, None)
    assert parse_cluster("ray://head:10001", 8) == ClusterAddress("ray://head:10001", False, 8)


@pytest.mark.parametrize("text", ["", "local", "local:", "ray://head", "head:10001", "local:-1"])
def test_rejects_other_addresses(text: str) -> None:
    with pytest.raises(UsageError, match="use local:N, auto or ray://HOST:PORT"):
        parse_cluster(text)


@pytest.mark.parametrize(("text", "shards"), [("local:0", None), ("auto", 0), ("auto", 9999)])
def test_rejects_other_numbers_of_shards(text: str, shards: int | None) -> None:
    with pytest.raises(UsageError, match="needs 1 to 1024 shards"):
        parse_cluster(text, shards)


def test_needs_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'tracklight\[ray\]'"):
        Cluster(parse_cluster("local:2"))
