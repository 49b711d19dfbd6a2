"""Start, reuse and list servers from cells, without a real notebook."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tracklight
from tests.index import logs
from tests.server.waiting import wait_until
from tracklight import notebook
from tracklight.errors import TracklightError, UsageError
from tracklight.server.serve import list_instances


class Shell:
    """The part of IPython that registers magics."""

    def __init__(self) -> None:
        self.magics: dict[str, Callable[[str], None]] = {}
        self.magics_manager = self

    def register_magic_function(self, function: Any, magic_name: str) -> None:
        self.magics[magic_name] = function


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    logs.write(tmp_path / "logs", "conv", logs.points(range(3)))
    logs.write(tmp_path / "logs2", "vit", logs.points(range(3)))
    yield tmp_path
    for process in notebook.started_processes:
        process.terminate()
        process.wait(60)
    notebook.started_processes.clear()


def load() -> dict[str, Callable[[str], None]]:
    shell = Shell()
    tracklight.load_ipython_extension(shell)  # type: ignore[attr-defined]
    return shell.magics


@pytest.mark.slow
def test_notebook_tutorial(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show = load()["tracklight"]
    show("--logdir logs --port 0  # the first")
    first = list_instances()
    assert [board.logdir for board in first] == [str(folder / "logs")]
    capsys.readouterr()

    show("--port=0 --logdir=logs")
    output = capsys.readouterr().out
    assert f"Reusing the server on port {first[0].port} (pid {first[0].pid})" in output
    assert list_instances() == first

    show(f"--logdir logs2 --port {first[0].port}")
    assert f"used by the server of {folder / 'logs'}" in capsys.readouterr().err
    show("--logdir logs2 --port 0")
    both = list_instances()
    assert [board.logdir for board in both] == [str(folder / "logs"), str(folder / "logs2")]
    capsys.readouterr()

    tracklight.notebook.list()
    lines = capsys.readouterr().out.splitlines()
    ports = [int(re.findall(r"port (\d+)", line)[0]) for line in lines[1:]]
    assert ports == [board.port for board in both]
    tracklight.notebook.display(port=both[0].port, height=1000)
    tracklight.notebook.display()
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"tracklight at {board.url}" for board in both]

    os.kill(first[0].pid, signal.SIGKILL)
    show("--logdir logs --port 0")
    restarted = [board for board in list_instances() if board.logdir.endswith("logs")]
    assert restarted and restarted[0].pid != first[0].pid


def test_errors_are_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show = load()["tracklight"]
    for line, message in {
        "--logdir logs --prot 1": "--prot",
        "inspect --logdir logs": "only starts servers",
        "--logdir logs --host 203.0.113.7 --port 0": "cannot listen",
    }.items():
        show(line)
        (error,) = capsys.readouterr().err.splitlines()
        assert error.startswith("tracklight: ") and message in error


@pytest.mark.parametrize("line", ["--help", "-h", "--logdir logs --help", "inspect --help"])
def test_help_does_not_raise(line: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load()["tracklight"](line)
    assert capsys.readouterr().out.startswith("usage: tracklight")
    tracklight.notebook.start("--version")
    assert capsys.readouterr().out == f"tracklight {tracklight.__version__}\n"
    assert list_instances() == []


def test_display_raises_without_a_server(folder: Path) -> None:
    with pytest.raises(UsageError, match="no server is running on port 1;"):
        tracklight.notebook.display(port=1)
    with pytest.raises(UsageError, match="no server is running;"):
        tracklight.notebook.display()


def test_reports_a_server_that_does_not_respond(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notebook, "_START_TIMEOUT_S", 0.0)
    with pytest.raises(TracklightError, match="did not respond"):
        notebook.launch(["--logdir", "logs", "--port", "0"])
    wait_until(lambda: len(list_instances()) == 1)


@pytest.mark.parametrize("is_installed", [False, True])
def test_registers_tensorboard_magic_only_without_tensorboard(
    monkeypatch: pytest.MonkeyPatch, is_installed: bool
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object() if is_installed else None)
    assert ("tensorboard" in load()) is not is_installed


def test_keeps_backslashes_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert notebook.split_line("--logdir 'my logs' --port 6006 # note") == [
        "--logdir",
        "my logs",
        "--port",
        "6006",
    ]
    monkeypatch.setattr(notebook.os, "name", "nt")
    assert notebook.split_line(r'--logdir E:\tf20\keras_log --tag "a b"')[1] == r"E:\tf20\keras_log"


def test_extension_is_loaded_and_unloaded_in_ipython() -> None:
    interactiveshell = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactiveshell.InteractiveShell()
    magics = shell.magics_manager.magics["line"]
    shell.run_line_magic("load_ext", "tracklight")
    assert magics["tracklight"] is not None
    other = magics["tensorboard"] = lambda arguments: None  # of another extension
    shell.run_line_magic("unload_ext", "tracklight")
    assert "tracklight" not in magics
    assert magics["tensorboard"] is other


def test_without_a_server_lists_none_and_displays_none(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook.list()
    assert capsys.readouterr().out == "No tracklight servers are running.\n"
    with pytest.raises(UsageError, match="no server is running; `%tracklight --logdir DIR`"):
        notebook.display()
    with pytest.raises(UsageError, match="no server is running on port 6006; "):
        notebook.display(port=6006)
