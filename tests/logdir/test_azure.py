"""Logs in a container of Azurite, Microsoft's emulator of Azure's object store."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.index import logs
from tests.logdir.store_program import run_server
from tracklight.index.catalog import Catalog
from tracklight.logdir import remote
from tracklight.logdir.access import Root, parse_roots
from tracklight.logdir.discover import discover
from tracklight.logdir.remote import RemoteFileSystem

pytestmark = pytest.mark.slow

NAME = "events.out.tfevents.1"
ROOT = "az://container/logs"
#: The account of every Azurite, from its documentation.
ACCOUNT, KEY = (
    "devstoreaccount1",
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
)
#: There is no obstore for Python 3.10.
LIBRARIES = ["adlfs", "obstore"] if sys.version_info >= (3, 11) else ["adlfs"]
_ADDRESS = re.compile(r"successfully listens? (?:on|at) (http://127\.0\.0\.1:\d+)")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run the server; yield its address."""
    pytest.importorskip("adlfs")
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("azurite is not installed")
    folder = tmp_path_factory.mktemp("azurite")
    command = [program, "--blobPort", "0", "--location", str(folder)]
    command += ["--skipApiVersionCheck", "--disableTelemetry"]
    with run_server(command, folder, _ADDRESS) as address:
        yield address


def configure(monkeypatch: pytest.MonkeyPatch, server: str, credential: str) -> None:
    text = f"{credential};BlobEndpoint={server}/{ACCOUNT};"
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", text)
    monkeypatch.setattr(remote, "_connections", {})
    import adlfs  # type: ignore[import-untyped]

    adlfs.AzureBlobFileSystem.clear_instance_cache()


@pytest.fixture(params=LIBRARIES)
def store(
    request: pytest.FixtureRequest, server: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """Create an empty container; yield the client that other programs write with."""
    if request.param == "adlfs":
        monkeypatch.setitem(sys.modules, "obstore", None)
    configure(monkeypatch, server, f"AccountName={ACCOUNT};AccountKey={KEY}")
    import fsspec

    store = fsspec.filesystem("az")
    store.mkdir("container")
    yield store
    store.rm("container", recursive=True)


def put(store: Any, run: str, data: bytes) -> None:
    store.pipe_file(f"container/logs/{run}/{NAME}", data, overwrite=True)


def is_obstore_used() -> bool:
    return RemoteFileSystem(ROOT)._connection.client is not None


def test_reads_the_runs_that_were_written(store: Any) -> None:
    names = ["sweep/run 0", "sweep/run 1+é", "sweep/run 2%20"]
    for number, name in enumerate(names):
        put(store, name, logs.points(range(500 + number)))
    catalog = Catalog(parse_roots(ROOT), cache=False)
    catalog.refresh()
    assert [run.name for run in catalog.runs()] == names
    for number, name in enumerate(names):
        assert catalog.scalar(name, "loss").step.tolist() == [*range(500 + number)]
    catalog.close()
    assert is_obstore_used() is (sys.modules.get("obstore") is not None)


def test_follows_a_blob_that_grows(store: Any) -> None:
    data = logs.points(range(5000))
    put(store, "run", data)
    catalog = Catalog(parse_roots(ROOT), cache=False)
    catalog.refresh()
    put(store, "run", data + logs.points(range(5000, 5003)))
    assert catalog.refresh().changed == ("run",)
    assert catalog.scalar("run", "loss").step.tolist() == [*range(5003)]
    assert catalog.refresh().changed == ()
    catalog.close()


def test_both_libraries_describe_files_alike(store: Any) -> None:
    for number in range(3):
        put(store, f"run{number}", b"x" * (number + 1))
    fs = RemoteFileSystem(ROOT)
    listed = fs.list_below("container/logs")
    assert len(listed) == 3
    for key, stat in listed.items():
        assert fs.find_stat(f"az://{key}") == stat
    files, folders = fs.list_folder("container/logs")
    assert (files, sorted(folders)) == ({}, [f"container/logs/run{n}" for n in range(3)])


def test_reports_a_missing_container(store: Any) -> None:
    found = discover(Root("", "az://missing/logs"), RemoteFileSystem("az://missing/logs"))
    assert [*map(str, found.problems)] == [
        'cannot list "az://missing/logs": there is no bucket "missing"'
    ]


def test_reads_with_a_shared_access_signature(
    store: Any, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import datetime, timedelta, timezone

    blob = pytest.importorskip("azure.storage.blob")
    put(store, "run", b"0123456789")
    signature = blob.generate_account_sas(
        ACCOUNT,
        KEY,
        blob.ResourceTypes(service=True, container=True, object=True),
        blob.AccountSasPermissions(read=True, list=True),
        datetime.now(timezone.utc) + timedelta(hours=1),
    )
    configure(monkeypatch, server, f"SharedAccessSignature={signature}")
    assert RemoteFileSystem(ROOT).read(f"{ROOT}/run/{NAME}", 2, 3) == b"234"
    assert is_obstore_used() is (sys.modules.get("obstore") is not None)


def test_tokens_come_from_the_credential_of_adlfs() -> None:
    class Token:
        token, expires_on = "secret", 1_800_000_000

    class Credential:
        def get_token(self, scope: str) -> Token:
            assert scope == "https://storage.azure.com/.default"
            return Token()

    provided = remote._make_azure_provider(Credential())()
    assert provided["token"] == "secret"
    assert provided["expires_at"].timestamp() == 1_800_000_000
