"""A log with captures of several programs, and a client of its dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.analysis.profiles.sample_captures import DATA, read_bytes
from tests.dashboards.profile.client import ProfileClient, open_client, put_file, put_xplane


@pytest.fixture(scope="session")
def profiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("profiled")
    put_xplane(logdir, "keras/slow", read_bytes("inputbound"))
    put_xplane(logdir, "keras/fast", read_bytes("cnn"))
    put_xplane(logdir, "broken", b"\xff" * 100)
    for worker, name in (("a_1", "torch_input"), ("b_1", "torch_overlap")):
        target = f"{worker}.1794790000000000000.pt.trace.json.gz"
        put_file(logdir, "torch", DATA / f"{name}.pt.trace.json.gz", target)
    return logdir


@pytest.fixture(scope="session")
def client(profiled: Path) -> Iterator[ProfileClient]:
    with open_client(profiled) as client:
        yield client
