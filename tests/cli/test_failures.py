"""`inspect` and `export` with logs that cannot be read or are empty."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.builders import scalar
from tests.logdir.conftest import unprivileged_path
from tests.logdir.s3_server import serve_s3
from tests.small_log import write
from tracklight.cli import main
from tracklight.formats import summary
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record
from tracklight.logdir import http, remote

__all__ = ["unprivileged_path"]

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def imported(tmp_path: Path, capfd: Captured) -> None:
    """Import everything that the commands need, before permissions are dropped."""
    write(tmp_path / "readable" / "run", scalar("loss", 0, 0.5))
    logdir = str(tmp_path / "readable")
    for arguments in (["inspect"], ["export", "--out=-", "--format=csv"]):
        assert main([*arguments, "--logdir", logdir, "--no-config"]) == 0
    main(["export", "--logdir", logdir, "--static", str(tmp_path / "board"), "--no-config"])
    capfd.readouterr()


def assert_fails(logdir: str, message: str, capfd: Captured, out: Path) -> None:
    """Check that both commands exit with status 1 and a one-line message, and write no file."""
    for arguments in (
        ["inspect", "--logdir", logdir],
        ["inspect", "--logdir", logdir, "--json"],
        ["export", "--logdir", logdir, "--no-cache", "--out", str(out)],
        ["export", "--logdir", logdir, "--no-cache", "--static", str(out.with_suffix(".html"))],
    ):
        assert main([*arguments, "--no-config"]) == 1, arguments
        stdout, stderr = capfd.readouterr()
        assert stdout == ""
        assert stderr.startswith("tracklight: ")
        assert message in stderr
        assert stderr.count("\n") == 1
    assert not out.exists()
    assert not out.with_suffix(".html").exists()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "scalars.csv"


def test_fails_for_an_empty_directory(tmp_path: Path, out: Path, capfd: Captured) -> None:
    logdir = tmp_path / "empty"
    logdir.mkdir()
    assert_fails(str(logdir), f'no event files in "{logdir}"', capfd, out)


def test_fails_for_a_file_that_is_not_a_log(tmp_path: Path, out: Path, capfd: Captured) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no log")
    assert_fails(str(path), f'"{path}" is a file; pass its directory instead', capfd, out)


@pytest.mark.skipif(os.name == "nt", reason="permissions work differently there")
def test_fails_for_an_unreadable_directory(
    imported: None, unprivileged_path: Path, capfd: Captured
) -> None:
    logdir = unprivileged_path / "logs"
    write(logdir / "a", scalar("loss", 0, 0.5))
    logdir.chmod(0)
    out = unprivileged_path / "scalars.csv"
    assert_fails(str(logdir), f'cannot list "{logdir}": Permission denied', capfd, out)
    logdir.chmod(0o700)


@pytest.mark.skipif(os.name == "nt", reason="permissions work differently there")
def test_reports_unreadable_parts_and_exports_the_rest(
    imported: None, unprivileged_path: Path, capfd: Captured
) -> None:
    logdir = unprivileged_path / "logs"
    write(logdir / "a", scalar("loss", 0, 0.5))
    hidden = write(logdir / "b", scalar("loss", 0, 0.5)).parent
    hidden.chmod(0)
    out = unprivileged_path / "scalars.csv"
    assert main(["inspect", str(logdir), "--no-config"]) == 1
    stdout, stderr = capfd.readouterr()
    assert "a  (1 tag, 1 file" in stdout
    assert stderr == f'tracklight: cannot list "{hidden}": Permission denied\n'
    # Readable runs are exported, but the exit status tells that something is missing.
    arguments = ["export", str(logdir), "--no-cache", "--no-config", "--out", str(out)]
    assert main(arguments) == 1
    assert len(out.read_text().splitlines()) == 2


@pytest.mark.skipif(os.name == "nt", reason="permissions work differently there")
def test_fails_if_one_of_two_directories_is_unreadable(
    imported: None, unprivileged_path: Path, capfd: Captured
) -> None:
    write(unprivileged_path / "a/run", scalar("loss", 0, 0.5))
    (unprivileged_path / "b").mkdir(mode=0)
    spec = f"a:{unprivileged_path}/a,b:{unprivileged_path}/b"
    assert_fails(spec, f'cannot list "{unprivileged_path}/b"', capfd, unprivileged_path / "x.csv")


def test_fails_if_all_runs_are_excluded(small_logdir: Path, out: Path, capfd: Captured) -> None:
    assert main(["inspect", str(small_logdir), "--include=none*"]) == 1
    message = f'--include and --exclude leave no run of "{small_logdir}"'
    assert capfd.readouterr().err == f"tracklight: {message}\n"


def test_fails_if_there_are_no_values_of_the_kind(
    tmp_path: Path, out: Path, capfd: Captured
) -> None:
    write(tmp_path / "logs/a", scalar("loss", 0, 0.5))
    for kind in ("histograms", "text", "images", "audio"):
        target = out if kind in ("histograms", "text") else tmp_path / "media"
        arguments = ["export", str(tmp_path / "logs"), "--kind", kind, "--out", str(target)]
        assert main(arguments) == 1
        message = f'no {kind} in "{tmp_path / "logs"}"; there are scalars (--kind)'
        assert capfd.readouterr().err == f"tracklight: {message}\n"
        assert not target.exists()
    assert main(["export", str(tmp_path / "logs"), "--kind=hparams", "--out", str(out)]) == 1
    assert capfd.readouterr().err.startswith("tracklight: no hyperparameters in ")


@pytest.mark.parametrize("flag", ["--profile", "--embeddings"])
def test_fails_for_unreadable_directories_in_other_modes(
    flag: str, tmp_path: Path, capfd: Captured
) -> None:
    (tmp_path / "notes.txt").write_text("no log")
    if flag == "--profile":
        assert main(["inspect", flag, str(tmp_path / "notes.txt")]) == 1
        assert "is a file; pass its directory instead" in capfd.readouterr().err
    assert main(["inspect", flag, str(tmp_path / "missing")]) == 1
    assert capfd.readouterr().err == f'tracklight: there is no directory "{tmp_path}/missing".\n'


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with serve_s3() as (address, _):
        monkeypatch.setattr(remote, "_connections", {})
        for name, value in {
            "AWS_ENDPOINT_URL": address,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        clear_instances()
        yield address
        clear_instances()


def clear_instances() -> None:
    """Make fsspec connect again with the environment of the next test."""
    s3fs = pytest.importorskip("s3fs")
    s3fs.S3FileSystem.clear_instance_cache()


def test_fails_for_a_missing_bucket(s3: str, out: Path, capfd: Captured) -> None:
    assert_fails(
        "s3://missing/logs",
        'cannot list "s3://missing/logs": there is no bucket "missing"',
        capfd,
        out,
    )


def test_fails_without_s3_credentials(
    s3: str, out: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    assert_fails("s3://bucket/logs", "Unable to locate credentials", capfd, out)


def test_fails_for_an_unreachable_endpoint(
    s3: str, out: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr("s3fs.S3FileSystem.retries", 1)
    assert_fails("s3://bucket/logs", "Could not connect to the endpoint URL", capfd, out)


def test_fails_for_an_unreachable_web_server(
    out: Path, monkeypatch: pytest.MonkeyPatch, capfd: Captured
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(http, "_RETRY_DELAYS_S", ())
    assert_fails("http://127.0.0.1:9/logs", "cannot connect to 127.0.0.1:9", capfd, out)


def test_exits_if_a_store_never_responds(tmp_path: Path) -> None:
    """The thread that waits for the store must not keep the program running."""
    program = f"""
import sys, threading
from tracklight.cli import main
from tracklight.logdir import remote
remote._check_scheme = lambda url: None
remote._connect = lambda url, options: threading.Event().wait()
remote._CONNECT_TIMEOUT_S = 0.1
sys.exit(main(["export", "gs://bucket/logs", "--no-cache", "--out", {str(tmp_path / "x.csv")!r}]))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith('tracklight: cannot list "gs://bucket/logs": no response within')
    assert ended.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_skips_and_reports_undecodable_values(tmp_path: Path, out: Path, capfd: Captured) -> None:
    values = [summary.text("words", "hello"), summary.tensor("words", np.eye(2))]
    events = [encode_event(1.7e9, step, [value]) for step, value in enumerate(values)]
    write(tmp_path / "logs", *map(encode_record, events))
    assert main(["export", str(tmp_path / "logs"), "--kind=text", "--out", str(out)]) == 1
    assert len(out.read_text().splitlines()) == 2
    assert capfd.readouterr().err.startswith(
        'tracklight: left out: "words" in run "." at step 1: not a text value'
    )
