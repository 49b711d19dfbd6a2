from __future__ import annotations

from pathlib import Path

from tests.logdir.test_discover import add, discover_runs


def test_finds_settings_files_in_and_above_runs(tmp_path: Path) -> None:
    add(tmp_path / "a" / "train")
    add(tmp_path / "b")
    for relative in ("a/config.json", "b/hparams.yaml", "elsewhere/config.json", "args.yaml"):
        add((tmp_path / relative).parent, Path(relative).name)
    add(tmp_path / "b", "notes.json")
    found = discover_runs(tmp_path)
    assert found.runs == ["a/train", "b"]
    beside = [(file.run, Path(file.path).name) for file in found.settings]
    assert sorted(beside) == [(".", "args.yaml"), ("a", "config.json"), ("b", "hparams.yaml")]


def test_settings_of_named_root_have_prefix(tmp_path: Path) -> None:
    add(tmp_path)
    add(tmp_path, "config.json")
    assert [file.run for file in discover_runs(tmp_path, name="base").settings] == ["base/."]
