"""The routes about collectives: one rank, and two ranks of one capture."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.profiles.sample_captures import DATA
from tests.dashboards.profile.client import ProfileClient, open_client, put_file

TIME = "1794790000000000000"


def write_second_rank(source: Path, target: Path) -> None:
    """Write the capture as rank 1 would have recorded it: every all-reduce began 100 us later."""
    content = json.loads(gzip.decompress(source.read_bytes()))
    content["distributedInfo"]["rank"] = 1
    for event in content["traceEvents"]:
        if event.get("cat") == "kernel" and "AllReduce" in event["name"]:
            event["ts"], event["dur"] = event["ts"] + 100, event["dur"] - 100
    target.write_bytes(gzip.compress(json.dumps(content).encode()))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProfileClient]:
    logdir, source = tmp_path_factory.mktemp("ranks"), DATA / "nccl.pt.trace.json.gz"
    put_file(logdir, "ddp", source, f"a_1.{TIME}.pt.trace.json.gz")
    write_second_rank(source, logdir / "ddp" / f"b_1.{TIME}.pt.trace.json.gz")
    with open_client(logdir) as client:
        yield client


def test_collectives_are_listed_by_kind_and_size(client: ProfileClient) -> None:
    response = client.get("communication", "ddp")
    assert set(response.kinds) == {"all_reduce", "broadcast"}
    assert response.counts.sum() == 21
    (device,) = response.devices
    assert 0 < device.exposed_ms < device.total_ms
    assert response.total_ms.sum() == pytest.approx(device.total_ms, rel=1e-6)
    reduces = np.array(response.kinds) == "all_reduce"
    expected = response.bytes * response.counts / response.total_ms * 1e3
    assert response.bus_bandwidths[reduces] == pytest.approx(expected[reduces])
    tools = {row.name: row.empty_reason for row in client.get("tools", "ddp").tools}
    assert tools["communication"] is None


def test_the_rank_that_is_ready_first_waits(client: ProfileClient) -> None:
    response = client.get("communication/ranks", "ddp")
    assert [(row.rank, row.host) for row in response.ranks] == [(0, "a_1"), (1, "b_1")]
    assert response.matched == 21 and response.unreadable == []
    first, second = response.ranks
    reduces = np.array(first.kinds) == "all_reduce"
    assert first.wait_ms[reduces] == pytest.approx(0.1, abs=1e-3)
    assert first.total_wait_ms == pytest.approx(1.5, abs=0.02)
    assert second.total_wait_ms < 0.02 and second.last_count >= 15
    ends = [row.start_ms + row.duration_ms for row in (first, second)]
    assert ends[0] == pytest.approx(ends[1], abs=1e-3)
