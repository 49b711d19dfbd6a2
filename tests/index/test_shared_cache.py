"""Servers exchange cache packs through a folder or a bucket, and survive whatever is in it."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import builders as b
from tests.index import logs
from tests.logdir.s3_server import serve_s3
from tracklight.errors import MissingDependencyError, UsageError
from tracklight.index import event_file
from tracklight.index.cache import open_store
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots

#: Reads are counted, and warnings collected, in this process.
pytestmark = pytest.mark.in_process


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for number in range(3):
        logs.write(tmp_path / "logs", f"run-{number}", logs.points(range(50)))
    return tmp_path / "logs"


class Server:
    """What one machine knows: a cache folder of its own, and the URL of the shared one."""

    def __init__(self, logdir: Path, folder: Path, url: str) -> None:
        self.logdir, self.folder, self.url = logdir, folder, url

    def read(self) -> Catalog:
        """Read the log and store what was read."""
        roots = parse_roots(self.logdir)
        catalog = Catalog(roots, cache=self.folder, shared_cache=self.url)
        catalog.refresh()
        catalog.close()
        return catalog

    def list_packs(self) -> list[Path]:
        return sorted(self.folder.rglob("*.pack"))


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record how many bytes of event files are read from now on."""
    sizes: list[int] = []
    read = event_file.EventFileReader.read

    def record(self, fs, file, stat, on_progress):  # type: ignore[no-untyped-def]
        begin = file.origin.end if file.is_read else 0
        sizes.append(stat.size - begin)
        return read(self, fs, file, stat, on_progress)

    monkeypatch.setattr(event_file.EventFileReader, "read", record)
    return sizes


def test_a_new_server_starts_warm(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(tmp_path / "shared")
    Server(logdir, tmp_path / "one", url).read()
    sizes = count_reads(monkeypatch)
    second = Server(logdir, tmp_path / "two", url)
    catalog = second.read()
    assert sizes == []
    assert catalog.scalar("run-1", "loss").step.tolist() == list(range(50))
    assert len(second.list_packs()) == 1


def test_only_what_is_new_is_read(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = str(tmp_path / "shared")
    Server(logdir, tmp_path / "one", url).read()
    added = b.scalar("loss", 60, 1.0)
    logs.append(logdir / "run-2/events.out.tfevents.1", added)
    sizes = count_reads(monkeypatch)
    catalog = Server(logdir, tmp_path / "two", url).read()
    assert sizes == [len(added)]
    assert catalog.scalar("run-2", "loss").step[-1] == 60


def list_shared(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_damaged_pack_is_not_used(
    logdir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shared = tmp_path / "shared"
    Server(logdir, tmp_path / "one", str(shared)).read()
    (pack,) = list_shared(shared)
    data = bytearray(pack.read_bytes())
    data[len(data) // 2] ^= 1
    pack.write_bytes(data)
    catalog = Server(logdir, tmp_path / "two", str(shared)).read()
    assert "damaged pack" in caplog.text
    assert catalog.scalar("run-0", "loss").step.tolist() == list(range(50))
    (own,) = Server(logdir, tmp_path / "two", "").list_packs()
    assert own.name != pack.name


def test_incomplete_and_other_files_are_ignored(logdir: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    Server(logdir, tmp_path / "one", str(shared)).read()
    (pack,) = list_shared(shared)
    pack.with_name(f"{pack.name}.part-1").write_bytes(b"half")
    pack.with_name("notes.txt").write_text("not a pack")
    second = Server(logdir, tmp_path / "two", str(shared))
    second.read()
    assert [path.name for path in second.list_packs()] == [pack.name]


def test_concurrent_writers_leave_complete_packs(logdir: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    servers = [Server(logdir, tmp_path / f"server-{n}", str(shared)) for n in range(4)]
    threads = [threading.Thread(target=server.read) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [path for path in list_shared(shared) if ".part-" in path.name]
    catalog = Server(logdir, tmp_path / "last", str(shared)).read()
    assert catalog.scalar("run-2", "loss").step.tolist() == list(range(50))


def test_packs_that_later_ones_replace_are_deleted(logdir: Path, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    Server(logdir, tmp_path / "one", str(shared)).read()
    (pack,) = list_shared(shared)
    # The same rows, published a day ago.
    day_ns = 86_400 * 10**9
    old = pack.with_name(f"{int(pack.name[:20]) - day_ns:020d}{pack.name[20:]}")
    old.write_bytes(pack.read_bytes())
    Server(logdir, tmp_path / "two", str(shared)).read()
    assert list_shared(shared) == [pack]


def test_an_unusable_store_is_reported_once(
    logdir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("not a folder")
    with caplog.at_level(logging.WARNING):
        catalog = Server(logdir, tmp_path / "one", str(tmp_path / "file/shared")).read()
    assert caplog.text.count("the shared cache cannot be used") == 1
    assert len(catalog.runs()) == 3


def test_bad_addresses_are_reported(logdir: Path) -> None:
    with pytest.raises(UsageError, match="is inside the log directory"):
        open_store(str(logdir / "shared"), [str(logdir)])
    with pytest.raises(UsageError, match="ftpx://… cannot be used"):
        open_store("ftpx://host", [str(logdir)])


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    s3fs = pytest.importorskip("s3fs")
    with serve_s3() as (address, _):
        for name, value in {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        if not s3fs.S3FileSystem().exists("bucket"):  # moto keeps its state in this process
            s3fs.S3FileSystem().mkdir("bucket")
        yield "s3://bucket/cache"
        s3fs.S3FileSystem.clear_instance_cache()


def test_works_with_a_bucket(
    s3: str, logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import s3fs

    Server(logdir, tmp_path / "one", s3).read()
    fs = s3fs.S3FileSystem()
    (key,) = fs.find("bucket")
    assert key.startswith("bucket/cache/v1/") and os.path.basename(key).endswith(".pack")
    sizes = count_reads(monkeypatch)
    catalog = Server(logdir, tmp_path / "two", s3).read()
    assert sizes == []
    assert catalog.scalar("run-1", "loss").step.tolist() == list(range(50))
    fs.pipe_file(key, fs.cat_file(key)[:-100])  # damaged
    Server(logdir, tmp_path / "three", s3).read()
    assert len(sizes) == 3


def test_a_missing_bucket_is_reported(
    s3: str, logdir: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    catalog = Server(logdir, tmp_path / "one", "s3://missing/cache").read()
    assert "the shared cache cannot be used" in caplog.text
    assert len(catalog.runs()) == 3


def test_names_the_extra_of_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "adlfs", None)
    with pytest.raises(MissingDependencyError, match=r"tracklight\[azure\]"):
        open_store("az://container/cache", ["logs"])
