"""Logs and shared caches in a bucket of a real S3-compatible server: ``rclone serve s3``.

moto, which other tests use, is made of the same library as the client. This server has its own
signatures, listings, ranges, checksums and errors.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.index import logs
from tests.logdir.store_program import run_server
from tracklight.index.cache import ObjectStore
from tracklight.index.catalog import Catalog
from tracklight.logdir import remote
from tracklight.logdir.access import Root, parse_roots
from tracklight.logdir.discover import discover
from tracklight.logdir.object_store import METER
from tracklight.logdir.remote import RemoteFileSystem

pytestmark = pytest.mark.slow

NAME = "events.out.tfevents.1"
ROOT = "s3://bucket/logs"
_ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+)")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run the server; yield its address."""
    pytest.importorskip("s3fs")
    program = shutil.which("rclone") or shutil.which(
        "rclone", path=str(Path(sys.executable).parent)
    )
    if program is None:
        pytest.skip("rclone is not installed")
    folder = tmp_path_factory.mktemp("buckets")
    command = [program, "serve", "s3", "--addr=127.0.0.1:0", "--auth-key=user,secret", "-v"]
    command += ["--config=", str(folder)]
    with run_server(command, tmp_path_factory.mktemp("server"), _ADDRESS) as address:
        yield address


@pytest.fixture
def store(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Create an empty bucket; yield the client that other programs write with."""
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "user",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    import s3fs  # type: ignore[import-untyped]

    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setattr(remote, "_connections", {})
    store = s3fs.S3FileSystem()
    store.mkdir("bucket")
    yield store
    store.rm("bucket", recursive=True)
    s3fs.S3FileSystem.clear_instance_cache()


def put(store: Any, run: str, data: bytes) -> None:
    store.pipe_file(f"bucket/logs/{run}/{NAME}", data)


def test_reads_the_runs_that_were_written(store: Any) -> None:
    for number in range(3):
        put(store, f"sweep/run {number}+é", logs.points(range(500 + number)))
    catalog = Catalog(parse_roots(ROOT), cache=False)
    catalog.refresh()
    assert [run.name for run in catalog.runs()] == [f"sweep/run {number}+é" for number in range(3)]
    for number, run in enumerate(catalog.runs()):
        assert catalog.scalar(run.name, "loss").step.tolist() == [*range(500 + number)]
    catalog.close()


def test_follows_an_object_that_grows(store: Any) -> None:
    data = logs.points(range(5000))
    put(store, "run", data)
    catalog = Catalog(parse_roots(ROOT), cache=False)
    catalog.refresh()
    before = METER.get_own().bytes["read"]
    put(store, "run", data + logs.points(range(5000, 5003)))
    assert catalog.refresh().changed == ("run",)
    assert catalog.scalar("run", "loss").step[-1] == 5002
    assert METER.get_own().bytes["read"] - before < len(data) / 2, "only new bytes are fetched"
    catalog.close()


def test_lists_several_pages(store: Any) -> None:
    store.pipe({f"bucket/logs/run{number}/{NAME}": b"" for number in range(1050)})
    files = RemoteFileSystem(ROOT)
    assert len(discover(Root("", ROOT), files).runs) == 1050
    put(store, "another", b"")
    assert len(discover(Root("", ROOT), files).runs) == 1051


def test_reports_a_missing_bucket(store: Any) -> None:
    found = discover(Root("", "s3://missing/logs"), RemoteFileSystem("s3://missing/logs"))
    assert [*map(str, found.problems)] == [
        'cannot list "s3://missing/logs": there is no bucket "missing"'
    ]


def test_reports_wrong_credentials(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, "run", logs.points(range(3)))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    found = discover(Root("", ROOT), RemoteFileSystem(ROOT, skip_instance_cache=True))
    assert found.runs == []
    (problem,) = map(str, found.problems)
    assert problem.startswith(f'cannot list "{ROOT}": ') and "\n" not in problem


def test_shared_cache(store: Any, tmp_path: Path) -> None:
    packs = ObjectStore("s3://bucket/cache/v1")
    assert packs.list_names() == []
    (tmp_path / "pack").write_bytes(b"rows" * 1000)
    for name in ("a.pack", "b.pack"):
        packs.upload(tmp_path / "pack", name)
    assert packs.list_names() == ["a.pack", "b.pack"]
    packs.download("a.pack", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"rows" * 1000
    packs.delete("a.pack")
    packs.delete("a.pack")
    assert packs.list_names() == ["b.pack"]
    with pytest.raises(FileNotFoundError):
        packs.download("a.pack", tmp_path / "copy")
