from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.builders import scalar
from tests.logdir.s3_server import Fault, Meter, serve_s3
from tests.server.waiting import wait_until
from tracklight.errors import MissingDependencyError, UsageError
from tracklight.formats.scanner import create_scanner
from tracklight.index.catalog import Catalog
from tracklight.logdir import remote
from tracklight.logdir.access import Root, fetch_local_copy, open_filesystem, parse_roots
from tracklight.logdir.discover import Discovery, discover
from tracklight.logdir.object_store import METER, find_queue, follow_notifications
from tracklight.logdir.remote import RemoteFileSystem
from tracklight.logdir.tail import EventFileTail, FileChange, detect_change, matches_fingerprint

ROOT = "s3://bucket/logs"
NAME = "events.out.tfevents.1.host"

Put = Callable[[str, bytes], None]


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, Meter]]:
    with serve_s3() as running:
        yield running


#: The libraries that send requests to S3; there is no obstore for Python 3.10.
CLIENTS = ["s3fs", "obstore"] if sys.version_info >= (3, 11) else ["s3fs"]


@pytest.fixture(params=CLIENTS)
def meter(
    request: pytest.FixtureRequest, server: tuple[str, Meter], monkeypatch: pytest.MonkeyPatch
) -> Meter:
    """Configure the environment for the server, and create an empty bucket."""
    if request.param == "s3fs":
        monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.setattr(remote, "_connections", {})
    address, meter = server
    for name, value in {
        "AWS_ENDPOINT_URL": address,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    import fsspec

    fs = fsspec.filesystem("s3")
    if fs.exists("bucket"):
        fs.rm("bucket", recursive=True)
    fs.mkdir("bucket")
    meter.requests.clear()
    return meter


@pytest.fixture
def put(meter: Meter) -> Put:
    """Write an object, like another machine would."""
    import fsspec

    fs = fsspec.filesystem("s3")

    def write(path: str, data: bytes) -> None:
        fs.pipe_file(f"bucket/logs/{path}", data)
        meter.requests.clear()

    return write


def discover_runs() -> Discovery:
    fs, path = open_filesystem(ROOT)
    return discover(Root("", path), fs)


def test_finds_runs(put: Put) -> None:
    for path in (NAME, f"a/{NAME}", f"a/b/{NAME}", "a/notes.txt", f"c/{NAME}.profile-empty"):
        put(path, b"12345")
    found = discover_runs()
    assert found.runs == [".", "a", "a/b", "c"]
    assert [file.path for file in found.files] == [
        f"{ROOT}/{NAME}",
        f"{ROOT}/a/{NAME}",
        f"{ROOT}/a/b/{NAME}",
    ]
    assert found.files[0].stat.size == 5


def test_prefix_without_objects_has_no_runs(meter: Meter) -> None:
    assert discover_runs() == Discovery([], [], [], [], frozenset())


def test_reports_missing_bucket(meter: Meter) -> None:
    fs, path = open_filesystem("s3://missing/logs")
    found = discover(Root("", path), fs)
    assert found.runs == []
    assert [*map(str, found.problems)] == [
        'cannot list "s3://missing/logs": there is no bucket "missing"'
    ]


def test_root_may_be_an_event_file(put: Put) -> None:
    put(f"a/{NAME}", b"12345")
    fs, path = open_filesystem(f"{ROOT}/a/{NAME}")
    found = discover(Root("", path), fs)
    assert [(file.run, file.path, file.stat.size) for file in found.files] == [(".", path, 5)]


@pytest.mark.slow
def test_reports_missing_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    found = discover(Root("", ROOT), RemoteFileSystem(ROOT, skip_instance_cache=True))
    assert [*map(str, found.problems)] == [
        f'cannot list "{ROOT}": Unable to locate credentials; set AWS_ACCESS_KEY_ID and '
        "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
    ]


def test_times_out_if_store_never_responds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Block like Google's library without a network, which takes minutes to fail."""
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
    (problem,) = map(str, found.problems)
    assert problem.startswith('cannot list "slow://bucket/logs": no response within 0 s; check')
    # The attempt continues in the background and is used once it succeeds.
    answered.set()
    monkeypatch.setattr(remote, "_CONNECT_TIMEOUT_S", 30)
    assert files.read("slow://bucket/logs/x", 2, 3) == b"234"


def test_does_not_print_tracebacks_of_libraries(capfd: pytest.CaptureFixture[str]) -> None:
    program = """
import logging
from tracklight.logdir.remote import RemoteFileSystem
RemoteFileSystem("memory://logs").find_stat("memory://logs/x")
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


def test_listing_and_stat_agree(put: Put) -> None:
    put(f"a/{NAME}", b"12345")
    (file,) = discover_runs().files
    fs = RemoteFileSystem(ROOT)
    assert fs.find_stat(file.path) == file.stat
    assert file.stat.identity and file.stat.mtime_ns > 0
    assert fs.find_stat(f"{ROOT}/missing") is None
    assert fs.find_stat(f"{ROOT}/a") is None


#: Folders with characters that are encoded in requests.
FOLDERS = ["a b", "a+b", "a%20b", "a#b", "a?b=c&d", "~[x]*", "q'", "é日本"]


@pytest.mark.skipif("obstore" not in CLIENTS, reason="there is no obstore for Python 3.10")
def test_obstore_lists_and_reads_what_s3fs_does(put: Put) -> None:
    for folder in FOLDERS:
        put(f"{folder}/{NAME}", folder.encode())
    put("with marker/", b"")
    put(f"with marker/{NAME}", b"12345")
    fs = remote._connect(ROOT, {})
    client = remote.open_client("s3", fs, "bucket/logs")
    if "obstore" not in sys.modules or sys.modules["obstore"] is None:
        assert client is None
        return
    assert client is not None
    found = {
        key: remote.parse_file_stat(it) for key, it in fs.find("bucket/logs", detail=True).items()
    }
    assert client.list_below("bucket/logs") == {
        key: stat for key, stat in found.items() if not key.endswith("/")
    }
    folders = client.list_folder("bucket/logs")
    assert folders is not None and sorted(folders[1]) == sorted(
        f"bucket/logs/{folder}" for folder in [*FOLDERS, "with marker"]
    )
    for folder in FOLDERS:
        data = folder.encode()
        assert client.read(f"bucket/logs/{folder}/{NAME}", 1, len(data)) == data[1:]


def test_downloads_only_requested_bytes(put: Put, meter: Meter) -> None:
    put(NAME, bytes(range(256)) * 4096)
    fs = RemoteFileSystem(ROOT)
    fs.exists(ROOT)  # connects
    meter.requests.clear()
    data = fs.read(f"{ROOT}/{NAME}", 256 * 1000 + 16, 32)
    assert data == bytes(range(16, 48))
    (request,) = meter.requests
    assert request.range == f"bytes={256 * 1000 + 16}-{256 * 1000 + 47}"
    assert request.sent_bytes == 32


@pytest.mark.parametrize("records", [10, 2000])
def test_small_file_is_read_with_one_request(records: int, put: Put, meter: Meter) -> None:
    put(NAME, b"".join(scalar("loss", step, 0.5) for step in range(records)))
    fs = RemoteFileSystem(ROOT)
    (file,) = discover(Root("", ROOT), fs).files
    meter.requests.clear()
    tail = EventFileTail(fs, file.path, create_scanner())
    assert sum(batch.records for batch in tail.iter_batches(file.stat.size)) == records
    assert len(meter.requests) == 1
    assert tail.fingerprint is not None
    assert matches_fingerprint(fs, file.path, tail.fingerprint)


def test_reads_several_files_at_once(put: Put, meter: Meter) -> None:
    for number in range(8):
        put(f"run{number}/{NAME}", scalar("loss", 1, 0.5))
    meter.barrier = threading.Barrier(8)
    catalog = Catalog(parse_roots(ROOT), cache=False)
    try:
        catalog.refresh()
        assert [run.points for run in catalog.runs()] == [1] * 8
    finally:
        meter.barrier = None
        catalog.close()


def test_sends_no_request_for_zero_bytes(put: Put, meter: Meter) -> None:
    put(NAME, b"12345")
    assert RemoteFileSystem(ROOT).read(f"{ROOT}/{NAME}", 3, 0) == b""
    assert meter.requests == []


def test_continues_reading_grown_object(put: Put, meter: Meter) -> None:
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


def test_detects_replaced_object(put: Put) -> None:
    put(NAME, b"".join(scalar("loss", step, 0.5) for step in range(10)))
    fs = RemoteFileSystem(ROOT)
    (before,) = discover_runs().files
    tail = EventFileTail(fs, before.path, create_scanner())
    list(tail.iter_batches(before.stat.size))
    put(NAME, b"".join(scalar("other", step, 0.5) for step in range(20)))
    (after,) = discover_runs().files
    assert tail.fingerprint is not None
    change = detect_change(fs, after.path, before.stat, tail.fingerprint, after.stat)
    assert change is FileChange.REPLACED


def test_reports_unreachable_store(
    meter: Meter,
) -> None:
    fs = RemoteFileSystem(
        ROOT,
        endpoint_url="http://127.0.0.1:9",
        config_kwargs={"retries": {"total_max_attempts": 1}},
    )
    found = discover(Root("", ROOT), fs)
    assert (found.runs, found.failed_directories) == ([], [ROOT])
    (problem,) = map(str, found.problems)
    assert problem.startswith(f'cannot list "{ROOT}": Could not connect to the endpoint URL')


class FailingStore:
    """An obstore that fails with every call."""

    def __init__(self) -> None:
        self.calls = 0

    def get_range(self, store: object, key: str, start: int, end: int) -> bytes:
        self.calls += 1
        raise ValueError("this server is not supported")


def test_reads_with_s3fs_what_obstore_cannot_read(
    put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(NAME, b"0123456789")
    store = FailingStore()
    client = remote.ObstoreClient(store, None, "bucket")
    monkeypatch.setattr(remote, "open_client", lambda extra, fs, key: client)
    fs = RemoteFileSystem(ROOT)
    for _ in range(5):
        assert fs.read(f"{ROOT}/{NAME}", 2, 3) == b"234"
    assert store.calls == 3, "a library that fails again and again is no longer asked"


class Flaky:
    """A store that fails several times before it responds."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)

    def _strip_protocol(self, url: str) -> str:
        return url

    def invalidate_cache(self) -> None:
        pass

    def info(self, path: str) -> dict[str, Any]:
        return {"type": "file", "size": 10}

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
    """An exception of an HTTP library, unrelated to OSError."""


@pytest.mark.parametrize("fault", ["500", "503", "drop", "short"])
def test_reads_on_after_faults_of_the_store(fault: Fault, put: Put, meter: Meter) -> None:
    data = bytes(range(256)) * 400
    put(NAME, data)
    fs = RemoteFileSystem(ROOT)
    fs.read(f"{ROOT}/{NAME}", 0, 1)
    meter.requests.clear()
    meter.faults += [fault, fault]
    assert fs.read(f"{ROOT}/{NAME}", 100, 100_000) == data[100:100_100]
    assert meter.faults == []
    assert len(meter.requests) == 3


@pytest.mark.parametrize("fault", ["500", "503", "drop", "short"])
def test_lists_all_files_in_spite_of_faults(fault: Fault, put: Put, meter: Meter) -> None:
    for number in range(5):
        put(f"run{number}/{NAME}", b"12345")
    discover_runs()
    meter.faults += [fault, fault]
    found = discover_runs()
    assert found.problems == []
    assert len(found.files) == 5
    assert meter.faults == []


def test_counts_requests_and_bytes(put: Put, meter: Meter) -> None:
    for number in range(3):
        put(f"run{number}/{NAME}", b"12345")
    fs = RemoteFileSystem(ROOT)
    fs.exists(ROOT)  # connects
    meter.requests.clear()
    before = METER.get_own()
    (first, *_) = discover(Root("", ROOT), fs).files
    assert fs.read(first.path, 1, 3) == b"234"
    assert fs.find_stat(first.path) == first.stat
    after = METER.get_own()
    counted = after.requests - before.requests
    assert counted == {"list": 4, "read": 1, "stat": 1}
    assert counted.total() == len(meter.requests)
    assert (after.bytes - before.bytes) == {"read": 3}


def test_continues_a_body_that_ends_early(
    make_flaky: Callable[..., RemoteFileSystem], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some libraries return what they got when a connection is closed."""

    def cat_file(self: Flaky, path: str, start: int, end: int) -> bytes:
        return b"0123456789"[start : min(end, start + 2)]

    monkeypatch.setattr(Flaky, "cat_file", cat_file)
    assert make_flaky().read("flaky://x", 2, 5) == b"23456"
    assert make_flaky().read("flaky://x", 7, 50) == b"789"


def test_retries_temporary_errors(make_flaky: Callable[..., RemoteFileSystem]) -> None:
    files = make_flaky(ConnectionResetError(), TimeoutError(), Broken("payload"))
    assert files.read("flaky://x", 2, 3) == b"234"


def test_gives_up_after_several_attempts(make_flaky: Callable[..., RemoteFileSystem]) -> None:
    files = make_flaky(*[Broken("no luck")] * 4)
    with pytest.raises(OSError, match="no luck"):
        files.read("flaky://x", 2, 3)


@pytest.mark.parametrize("error", [FileNotFoundError(), PermissionError()])
def test_does_not_retry_final_errors(
    error: OSError, make_flaky: Callable[..., RemoteFileSystem]
) -> None:
    files = make_flaky(error)
    with pytest.raises(type(error)):
        files.read("flaky://x", 2, 3)
    assert files.read("flaky://x", 2, 3) == b"234"


def test_handles_store_that_ignores_ranges(
    make_flaky: Callable[..., RemoteFileSystem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Flaky, "cat_file", lambda self, path, start, end: b"0123456789")
    assert make_flaky().read("flaky://x", 2, 3) == b"234"


@pytest.mark.parametrize(
    ("url", "extra"),
    [("s3://b/x", "s3"), ("gs://b/x", "gcs"), ("abfs://b/x", "azure"), ("hdfs://b/x", "remote")],
)
def test_error_names_missing_extra(url: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("fsspec", "fsspec.registry"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"pip install 'tracklight\[{extra}\]'"):
        open_filesystem(url)


def test_rejects_unknown_scheme() -> None:
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
def test_parses_stats_of_different_stores(
    info: dict[str, Any], mtime_s: int, identity: str
) -> None:
    stat = remote.parse_file_stat(info)
    assert stat == (info["size"] or 0, mtime_s * 1_000_000_000, identity)


def test_finds_and_downloads_captures(put: Put) -> None:
    data = bytes(range(256)) * 40_000  # more than one read
    put("run/plugins/profile/now/vm.xplane.pb", data)
    found = discover_runs()
    assert found.runs == ["run"]
    (capture,) = found.captures
    assert (capture.run, capture.session, capture.bytes) == ("run", "now", len(data))
    with fetch_local_copy(capture.path) as path:
        assert path.name == "vm.xplane.pb"
        assert path.read_bytes() == data
    assert not path.exists()


def test_notifications_replace_listings(put: Put, meter: Meter) -> None:
    """A bucket reports a new run to a queue, and only its folder is listed."""
    for number in range(3):
        put(f"run{number}/{NAME}", b"12345")
    with follow_notifications(connect_bucket_to_queue()):
        fs, path = open_filesystem(ROOT)
        assert len(discover(Root("", path), fs).runs) == 3
        queue = find_queue()
        assert queue is not None
        wait_until(lambda: queue.take("bucket/unrelated") is not None)
        meter.requests.clear()
        assert len(discover(Root("", path), fs).runs) == 3
        assert count_listings(meter) == 0
        put(f"sweep/new/{NAME}", b"12345")
        wait_until(lambda: "sweep/new" in discover(Root("", path), fs).runs)
        assert count_listings(meter) == 1


def count_listings(meter: Meter) -> int:
    return sum(it.method == "GET" and it.path.strip("/") == "bucket" for it in meter.requests)


def connect_bucket_to_queue() -> str:
    """Create a queue to which the bucket sends its events; return the URL."""
    import botocore.session  # type: ignore[import-untyped]

    session = botocore.session.get_session()
    # Another one for every test: the last request to a queue may still wait for its messages.
    name = f"tracklight-{secrets.token_hex(4)}"
    queue = session.create_client("sqs").create_queue(QueueName=name)
    account = queue["QueueUrl"].split("/")[-2]
    arn = f"arn:aws:sqs:us-east-1:{account}:{name}"
    session.create_client("s3").put_bucket_notification_configuration(
        Bucket="bucket",
        NotificationConfiguration={
            "QueueConfigurations": [{"QueueArn": arn, "Events": ["s3:ObjectCreated:*"]}]
        },
    )
    return str(queue["QueueUrl"])
