"""Captures are read once, kept, and told of when they cannot be read."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.analysis.profiles.sample_captures import DATA, read_bytes
from tests.dashboards.profile.client import Asked, put_xplane
from tracklight.analysis.profiles.captures.files import open_capture
from tracklight.dashboards.profile import store
from tracklight.errors import FormatError, LogError


def test_a_capture_is_read_once_however_many_ask(
    profiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def note(path: Path, *more: object) -> object:
        read.append(path)
        return open_capture(path, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "open_capture", note)
    asked = Asked(profiled)
    paths = ["overview", "steps", "input", "tools"]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda path: asked.get(path, "keras/fast"), paths))
    assert len(read) == 1
    asked.close()


def test_answers_are_kept_outside_of_the_log_and_for_the_next_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logdir, cache = tmp_path / "logs", tmp_path / "cache"
    path = put_xplane(logdir, "run", read_bytes("cnn"))
    there = sorted(logdir.rglob("*"))
    first = Asked(logdir, cache)
    answers = [first.get(name, "run") for name in ("overview", "steps", "input")]
    first.close()
    assert sorted(logdir.rglob("*")) == there

    with monkeypatch.context() as patch:
        patch.setattr(store, "open_capture", None)
        second = Asked(logdir, cache)
        overview, steps, told = (second.get(name, "run") for name in ("overview", "steps", "input"))
    assert (overview, told) == (answers[0], answers[2])
    assert steps.total_ms.tolist() == answers[1].total_ms.tolist()
    assert steps.averaged == answers[1].averaged

    path.write_bytes(read_bytes("inputbound"))
    second.catalog.refresh()
    assert second.get("overview", "run").steps.mean_ms == pytest.approx(49.3, abs=0.05)
    second.close()


def test_what_cannot_be_read_of_the_cache_is_made_anew(tmp_path: Path) -> None:
    logdir, cache = tmp_path / "logs", tmp_path / "cache"
    put_xplane(logdir, "run", read_bytes("cnn"))
    asked = Asked(logdir, cache)
    expected = asked.get("overview", "run")
    kept = [path for path in cache.rglob("profiles/*") if path.is_file()]
    assert kept
    for path in kept:
        path.write_bytes(b"\x93nothing")
    assert asked.get("overview", "run") == expected
    asked.close()


def test_how_far_reading_has_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copyfile(DATA / "tgpu.pt.trace.json.gz", tmp_path / "w.17.pt.trace.json.gz")
    asked = Asked(tmp_path)
    halfway, go_on = threading.Event(), threading.Event()

    def read_slowly(path: Path, tell: object) -> object:
        tell(0.5)  # type: ignore[operator]
        halfway.set()
        assert go_on.wait(60)
        return open_capture(path)

    monkeypatch.setattr(store, "open_capture", read_slowly)
    assert asked.get("opening", ".").state == "idle"
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(asked.get, "overview", ".")
        assert halfway.wait(60)
        opening = asked.get("opening", ".")
        assert (opening.state, opening.share) == ("opening", 0.5)
        go_on.set()
        assert answer.result().events > 0
    assert asked.get("opening", ".").state == "ready"
    asked.close()


def test_a_broken_capture_is_a_sentence(asked: Asked) -> None:
    with pytest.raises(FormatError, match=r"vm\.xplane\.pb"):
        asked.get("overview", "broken")
    opening = asked.get("opening", "broken")
    assert opening.state == "failed"
    assert "vm.xplane.pb" in opening.problem.message


def test_a_capture_that_has_gone_is_a_sentence(asked: Asked) -> None:
    with pytest.raises(LogError, match="load the page again"):
        asked.get("overview", "torch", capture="nobody")
    with pytest.raises(LogError, match='nothing of a host "c"'):
        asked.get("overview", "torch", host="c")


def test_a_capture_that_leads_out_of_the_log_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "secret.xplane.pb"
    outside.write_bytes(read_bytes("cnn"))
    place = put_xplane(tmp_path / "logs", "run", b"")
    place.unlink()
    place.symlink_to(outside)
    asked = Asked(tmp_path / "logs")
    with pytest.raises(PermissionError, match="leads out"):
        asked.get("overview", "run")
    asked.close()


def test_a_profile_of_memory_alone_says_why_there_are_no_times(tmp_path: Path) -> None:
    (tmp_path / "memory.prof").write_bytes(b"")
    asked = Asked(tmp_path)
    tools = {tool.name: tool for tool in asked.get("tools", ".").tools}
    assert "memory" in tools["overview"].why
    assert tools["overview"].next
    asked.close()
