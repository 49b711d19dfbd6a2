from __future__ import annotations

from pathlib import Path

from tests.logdir.test_discover import add, look


def test_files_with_settings_are_found_beside_runs_and_above_them(tmp_path: Path) -> None:
    add(tmp_path / "a" / "train")
    add(tmp_path / "b")
    for place in ("a/config.json", "b/hparams.yaml", "elsewhere/config.json", "args.yaml"):
        add((tmp_path / place).parent, Path(place).name)
    add(tmp_path / "b", "notes.json")
    found = look(tmp_path)
    assert found.runs == ["a/train", "b"]
    beside = [(file.run, Path(file.path).name) for file in found.settings]
    assert sorted(beside) == [(".", "args.yaml"), ("a", "config.json"), ("b", "hparams.yaml")]


def test_settings_of_a_named_root_have_its_name(tmp_path: Path) -> None:
    add(tmp_path)
    add(tmp_path, "config.json")
    assert [file.run for file in look(tmp_path, name="base").settings] == ["base/."]
