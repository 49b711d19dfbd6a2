"""Connecting to Ray: what --cluster accepts, and one sentence for everything that can fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.index import logs
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


def run_command(tmp_path: Path, *flags: str, program: str = "", **env: str) -> str:
    """Serve a log and return what the command printed before it failed."""
    logs.write(tmp_path / "logs", "a", logs.points(range(3)))
    main = f"{program}\nfrom tracklight.cli import main; raise SystemExit(main())"
    command = [sys.executable, "-c", main, str(tmp_path / "logs"), "--port=0", *flags]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**os.environ, **env}
    )
    assert done.returncode == 2, done.stderr
    return done.stderr


@pytest.mark.slow
def test_reports_a_wrong_address(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    error = run_command(
        tmp_path, "--cluster=ray://127.0.0.1:9", RAY_CLIENT_RECONNECT_GRACE_PERIOD="1"
    )
    expected = "--cluster ray://127.0.0.1:9: there is no Ray cluster at this address"
    assert error.splitlines()[-1] == f"tracklight: {expected}"
    assert "Traceback" not in error


@pytest.mark.slow
def test_reports_that_no_cluster_runs_here(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    error = run_command(
        tmp_path, "--cluster=auto", RAY_ADDRESS="127.0.0.1:9", RAY_TMPDIR="/nowhere"
    )
    assert "Traceback" not in error
    assert error.splitlines()[-1].startswith("tracklight: --cluster auto: no Ray cluster runs")


@pytest.mark.slow
def test_reports_another_version_of_ray(tmp_path: Path, ray_address: str) -> None:
    other = "import ray; ray.__version__ = '1.0.0'; import ray._private.utils"
    error = run_command(tmp_path, "--cluster=auto", program=other, RAY_ADDRESS=ray_address)
    assert "Traceback" not in error
    assert "runs another version of Ray or Python than this server" in error.splitlines()[-1]
