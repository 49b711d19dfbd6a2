from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.builders import scalar
from tests.logdir.s3_server import Meter, serve_s3
from tracklight.errors import MissingDependencyError, UsageError
from tracklight.formats.scanner import create_scanner
from tracklight.logdir import remote
from tracklight.logdir.access import fetch_local_copy, open_filesystem
from tracklight.logdir.discover import Discovery, discover
from tracklight.logdir.file_changes import FileChange, detect_change
from tracklight.logdir.remote import RemoteFileSystem
from tracklight.logdir.roots import Root
from tracklight.logdir.tail import EventFileTail

ROOT = "s3://bucket/logs"
NAME = "events.out.tfevents.1.host"

Put = Callable[[str, bytes], None]


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, Meter]]:
    with serve_s3() as running:
        yield running


@pytest.fixture
def meter(server: tuple[str, Meter], monkeypatch: pytest.MonkeyPatch) -> Meter:
    """The environment of a user of that server, and an empty bucket in it."""
    address, meter = server
    for name, value in {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    fs = RemoteFileSystem(ROOT)._fs
    if fs.exists("bucket"):
        fs.rm("bucket", recursive=True)
    fs.mkdir("bucket")
    meter.requests.clear()
    return meter


@pytest.fixture
def put(meter: Meter) -> Put:
    """Writes an object, as another machine would."""
    fs = RemoteFileSystem(ROOT)._fs

    def write(path: str, data: bytes) -> None:
        fs.pipe_file(f"bucket/logs/{path}", data)
        meter.requests.clear()

    return write


def look() -> Discovery:
    fs, path = open_filesystem(ROOT)
    return discover(Root("", path), fs)


def test_finds_runs(put: Put) -> None:
    for path in (NAME, f"a/{NAME}", f"a/b/{NAME}", "a/notes.txt", f"c/{NAME}.profile-empty"):
        put(path, b"12345")
    found = look()
    assert found.runs == [".", "a", "a/b", "c"]
    assert [file.path for file in found.files] == [
        f"{ROOT}/{NAME}",
        f"{ROOT}/a/{NAME}",
        f"{ROOT}/a/b/{NAME}",
    ]
    assert found.files[0].stat.size == 5


def test_a_prefix_without_objects_has_no_runs(meter: Meter) -> None:
    assert look() == Discovery([], [], [], [], frozenset())


def test_a_bucket_that_does_not_exist_is_reported(meter: Meter) -> None:
    fs, path = open_filesystem("s3://missing/logs")
    found = discover(Root("", path), fs)
    assert found.runs == []
    assert found.problems == ['there is nothing at "s3://missing/logs"']


def test_one_event_file_is_a_log(put: Put) -> None:
    put(f"a/{NAME}", b"12345")
    fs, path = open_filesystem(f"{ROOT}/a/{NAME}")
    found = discover(Root("", path), fs)
    assert [(file.run, file.path, file.stat.size) for file in found.files] == [(".", path, 5)]


@pytest.mark.slow
def test_missing_credentials_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    found = discover(Root("", ROOT), RemoteFileSystem(ROOT, skip_instance_cache=True))
    assert found.problems == [
        f'cannot list "{ROOT}": Unable to locate credentials; set AWS_ACCESS_KEY_ID and '
        "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
    ]


def test_a_store_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Google's library without a network, which takes minutes to say so."""
    answered = threading.Event()

    def connect(url: str, options: object) -> Flaky:
        answered.wait(60)
        return Flaky()

    monkeypatch.setattr(remote, "_check_scheme", lambda url: None)
    monkeypatch.setattr(remote, "_connect", connect)
    monkeypatch.setattr(remote, "_CONNECT_TIMEOUT_S", 0.05)
    files = RemoteFileSystem("slow://bucket/logs")
    found = discover(Root("", "slow://bucket/logs"), files)
    assert found.failed_directories == ["slow://bucket/logs"]
    (problem,) = found.problems
    assert problem.startswith('cannot list "slow://bucket/logs": no answer within 0 s; check')
    # The attempt goes on meanwhile, and counts as soon as it succeeds.
    answered.set()
    monkeypatch.setattr(remote, "_CONNECT_TIMEOUT_S", 30)
    assert files.read("slow://bucket/logs/x", 2, 3) == b"234"


def test_tracebacks_of_libraries_are_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    program = """
import logging
from tracklight.logdir.remote import RemoteFiles
RemoteFiles("memory://logs").find_stat("memory://logs/x")
try:
    raise ValueError
except ValueError:
    logging.getLogger("gcsfs").exception("out of retries")
"""
    subprocess.run([sys.executable, "-c", program], check=True)
    assert capfd.readouterr() == ("", "")


def test_listings_are_not_cached(put: Put) -> None:
    put(f"a/{NAME}", b"1")
    fs = RemoteFileSystem(ROOT)
    before = discover(Root("", ROOT), fs)
    put(f"a/{NAME}", b"12")
    put(f"b/{NAME}", b"1")
    after = discover(Root("", ROOT), fs)
    assert (before.runs, after.runs) == (["a"], ["a", "b"])
    assert [file.stat.size for file in after.files] == [2, 1]
    assert after.files[0].stat.identity != before.files[0].stat.identity


def test_a_listing_and_a_question_say_the_same(put: Put) -> None:
    put(f"a/{NAME}", b"12345")
    (file,) = look().files
    fs = RemoteFileSystem(ROOT)
    assert fs.find_stat(file.path) == file.stat
    assert file.stat.identity and file.stat.mtime_ns > 0
    assert fs.find_stat(f"{ROOT}/missing") is None
    assert fs.find_stat(f"{ROOT}/a") is None


def test_only_the_bytes_asked_for_travel(put: Put, meter: Meter) -> None:
    put(NAME, bytes(range(256)) * 4096)
    data = RemoteFileSystem(ROOT).read(f"{ROOT}/{NAME}", 256 * 1000 + 16, 32)
    assert data == bytes(range(16, 48))
    (request,) = meter.requests
    assert request.range == f"bytes={256 * 1000 + 16}-{256 * 1000 + 47}"
    assert request.sent_bytes == 32


def test_nothing_asked_for_is_nothing_sent(put: Put, meter: Meter) -> None:
    put(NAME, b"12345")
    assert RemoteFileSystem(ROOT).read(f"{ROOT}/{NAME}", 3, 0) == b""
    assert meter.requests == []


def test_a_grown_object_is_read_on_from_where_reading_stopped(put: Put, meter: Meter) -> None:
    first = b"".join(scalar("loss", step, 0.5) for step in range(2000))
    more = b"".join(scalar("loss", step, 0.5) for step in range(2000, 2010))
    put(NAME, first)
    fs = RemoteFileSystem(ROOT)
    (before,) = discover(Root("", ROOT), fs).files
    tail = EventFileTail(fs, before.path, create_scanner())
    assert sum(batch.records for batch in tail.iter_batches(before.stat.size)) == 2000
    assert tail.fingerprint is not None

    put(NAME, first + more)
    (after,) = discover(Root("", ROOT), fs).files
    change = detect_change(fs, after.path, before.stat, tail.fingerprint, after.stat)
    assert change is FileChange.GROWN
    assert sum(batch.records for batch in tail.iter_batches(after.stat.size)) == 10
    reads = [request for request in meter.requests if request.path.endswith(NAME)]
    assert f"bytes={len(first)}-{len(first + more) - 1}" in [request.range for request in reads]
    assert sum(request.sent_bytes for request in reads) < len(more) + 4 * 4096


def test_a_replaced_object_is_noticed(put: Put) -> None:
    put(NAME, b"".join(scalar("loss", step, 0.5) for step in range(10)))
    fs = RemoteFileSystem(ROOT)
    (before,) = look().files
    tail = EventFileTail(fs, before.path, create_scanner())
    list(tail.iter_batches(before.stat.size))
    put(NAME, b"".join(scalar("other", step, 0.5) for step in range(20)))
    (after,) = look().files
    assert tail.fingerprint is not None
    change = detect_change(fs, after.path, before.stat, tail.fingerprint, after.stat)
    assert change is FileChange.REPLACED


def test_a_store_that_cannot_be_reached_is_reported(
    meter: Meter,
) -> None:
    fs = RemoteFileSystem(
        ROOT,
        endpoint_url="http://127.0.0.1:9",
        config_kwargs={"retries": {"total_max_attempts": 1}},
    )
    found = discover(Root("", ROOT), fs)
    assert (found.runs, found.failed_directories) == ([], [ROOT])
    (problem,) = found.problems
    assert problem.startswith(f'cannot list "{ROOT}": Could not connect to the endpoint URL')


class Flaky:
    """A store that fails some times before it answers."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)

    def _strip_protocol(self, url: str) -> str:
        return url

    def cat_file(self, path: str, start: int, end: int) -> bytes:
        if self._errors:
            raise self._errors.pop(0)
        return b"0123456789"[start:end]


@pytest.fixture
def make_flaky(monkeypatch: pytest.MonkeyPatch) -> Callable[..., RemoteFileSystem]:
    monkeypatch.setattr(remote, "_RETRY_DELAYS_S", (0, 0, 0))
    monkeypatch.setattr(remote, "_check_scheme", lambda url: None)
    monkeypatch.setattr(remote, "_connections", {})

    def make(*errors: Exception) -> RemoteFileSystem:
        monkeypatch.setattr(remote, "_connect", lambda url, options: Flaky(*errors))
        return RemoteFileSystem("flaky://x")

    return make


class Broken(Exception):
    """As HTTP libraries raise: of no kind that the standard library knows."""


def test_tries_again_when_that_may_help(make_flaky: Callable[..., RemoteFileSystem]) -> None:
    files = make_flaky(ConnectionResetError(), TimeoutError(), Broken("payload"))
    assert files.read("flaky://x", 2, 3) == b"234"


def test_gives_up_after_some_times(make_flaky: Callable[..., RemoteFileSystem]) -> None:
    files = make_flaky(*[Broken("no luck")] * 4)
    with pytest.raises(OSError, match="no luck"):
        files.read("flaky://x", 2, 3)


@pytest.mark.parametrize("error", [FileNotFoundError(), PermissionError()])
def test_does_not_try_again_in_vain(
    error: OSError, make_flaky: Callable[..., RemoteFileSystem]
) -> None:
    files = make_flaky(error)
    with pytest.raises(type(error)):
        files.read("flaky://x", 2, 3)
    assert files.read("flaky://x", 2, 3) == b"234"


def test_copes_with_a_server_that_ignores_ranges(
    make_flaky: Callable[..., RemoteFileSystem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Flaky, "cat_file", lambda self, path, start, end: b"0123456789")
    assert make_flaky().read("flaky://x", 2, 3) == b"234"


@pytest.mark.parametrize(
    ("url", "extra"),
    [("s3://b/x", "s3"), ("gs://b/x", "gcs"), ("abfs://b/x", "azure"), ("hdfs://b/x", "remote")],
)
def test_names_the_extra_that_is_missing(
    url: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("fsspec", "fsspec.registry"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"pip install 'tracklight\[{extra}\]'"):
        open_filesystem(url)


def test_refuses_a_scheme_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match='cannot read logs from "nonsense://x"'):
        open_filesystem("nonsense://x")


@pytest.mark.parametrize(
    ("info", "mtime_s", "identity"),
    [
        ({"size": 1, "updated": "2024-01-01T00:00:00.500Z", "etag": "e"}, 1704067200, "e"),
        ({"size": 1, "mtime": 1704067200.9}, 1704067200, ""),
        ({"size": 1, "LastModified": "yesterday", "ETag": '"q"'}, 0, "q"),
        ({"size": None}, 0, ""),
    ],
)
def test_understands_what_stores_say(info: dict[str, Any], mtime_s: int, identity: str) -> None:
    stat = remote._get_stat(info)
    assert stat == (info["size"] or 0, mtime_s * 1_000_000_000, identity)


def test_captures_are_found_and_fetched_for_as_long_as_they_are_read(put: Put) -> None:
    data = bytes(range(256)) * 40_000  # more than is asked for at a time
    put("run/plugins/profile/now/vm.xplane.pb", data)
    found = look()
    assert found.runs == ["run"]
    (capture,) = found.captures
    assert (capture.run, capture.session, capture.bytes) == ("run", "now", len(data))
    with fetch_local_copy(capture.path) as path:
        assert path.name == "vm.xplane.pb"
        assert path.read_bytes() == data
    assert not path.exists()
