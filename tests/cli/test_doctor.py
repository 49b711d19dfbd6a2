from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests import builders as b
from tests.small_log import NAME
from tracklight.cli import main


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKLIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRACKLIGHT_DATA", str(tmp_path / "data"))


def ask(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[tuple[str, str]]]:
    """The exit status, and the findings on the log as weight and words."""
    status = main(["doctor", "--json", "--no-config", *words])
    sections = json.loads(capfd.readouterr().out)
    found = [it for section in sections[1:] for it in section["findings"]]
    return status, [(it["weight"], f"{it['text']} {it['advice']}") for it in found]


def test_says_what_is_installed(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["doctor", "--no-config"])
    out = capfd.readouterr().out
    assert out.startswith("tracklight ")
    assert f"what was read can be kept in {tmp_path / 'cache'}" in out
    assert "s3fs" in out
    assert not (tmp_path / "cache").exists()


def test_a_folder_that_cannot_be_written_to_is_wrong(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRACKLIGHT_DATA", str(tmp_path / "file" / "data"))
    assert main(["doctor", "--no-config"]) == 4
    assert "notes cannot be kept" in capfd.readouterr().out


def test_a_whole_log(small_logdir: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, found = ask(capfd, str(small_logdir), "--exclude=kinds")
    words = dict(map(reversed, found))  # type: ignore[arg-type]
    assert any("event files of" in text for text in words)
    assert any("Scalars: 2 tags" in text for text in words)
    assert any("1 run left out by --include or --exclude: kinds" in text for text in words)
    assert any("overwritten when a run was started again" in text for text in words)
    assert status == (4 if "wrong" in words.values() else 0)


def test_damage_and_runs_without_values_are_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for run in ("broken", "empty"):
        (tmp_path / "logs" / run).mkdir(parents=True)
    records = [b.scalar("loss", step, 0.5) for step in range(5)]
    records[2] = b.flip(records[2], -6)
    (tmp_path / "logs" / "broken" / NAME).write_bytes(b"".join(records))
    (tmp_path / "logs" / "empty" / NAME).touch()

    status, found = ask(capfd, str(tmp_path / "logs"))

    assert status == 4
    assert any(w == "wrong" and "1 damaged place in 1 run: broken" in text for w, text in found)
    assert any(w == "note" and "1 run without any value: empty" in text for w, text in found)


def test_a_log_without_event_files_says_what_is_there(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs" / "mlruns").mkdir(parents=True)
    status, found = ask(capfd, str(tmp_path / "logs"))
    assert status == 4
    assert [weight for weight, _ in found] == ["wrong", "note", "note"]
    assert "MLflow" in found[2][1]


def test_a_log_that_is_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status, found = ask(capfd, str(tmp_path / "nowhere"))
    assert status == 4
    assert "there is no such directory" in found[0][1]
