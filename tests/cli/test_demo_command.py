"""The `demo` command; test_demo_log.py tests the contents of the log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.small_log import NAME
from tracklight.analysis.source import DataAccess
from tracklight.cli import demo, main, serve
from tracklight.index.catalog import Catalog
from tracklight.server.app import Settings


@pytest.fixture(autouse=True)
def quick_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an empty run instead of a log that takes seconds."""

    def write(folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / NAME).touch()

    monkeypatch.setattr(demo, "write_demo", write)


def test_writes_the_log_to_a_directory(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "demo"
    assert main(["demo", str(folder)]) == 0
    assert capfd.readouterr().out.endswith(f"tracklight --logdir {folder}\n")
    assert (folder / NAME).exists()
    assert main(["demo", str(folder)]) == 2


def test_serves_and_deletes_a_temporary_log(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    served: list[Path] = []

    def run(catalog: Catalog, settings: Settings, announce: Callable[[str], None]) -> None:
        catalog.refresh()
        assert [run.name for run in catalog.runs()] == ["."]
        root = Path(catalog.roots[0].path)
        access = DataAccess(data_dirs=(str(root.resolve()),))
        assert settings == Settings(port=0, window_title="tracklight demo", access=access)
        served.append(root)

    monkeypatch.setattr(serve, "run_server", run)
    assert main(["demo", "--port=0"]) == 0
    assert not served[0].exists()
    lines = capfd.readouterr().err.splitlines()
    assert lines and all(line.startswith("tracklight: ") for line in lines)


def test_tour_opens_the_first_step(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []

    def run(catalog: Catalog, settings: Settings, announce: Callable[[str], None]) -> None:
        announce("http://localhost:6006/")

    monkeypatch.setattr(serve, "run_server", run)
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or True)
    assert main(["tour", "--port=0"]) == 0
    assert opened == ["http://localhost:6006/?tour=1"]
    assert "tracklight at http://localhost:6006/?tour=1 (" in capfd.readouterr().out
    assert main(["tour", "--no-open"]) == 0
    assert len(opened) == 1
