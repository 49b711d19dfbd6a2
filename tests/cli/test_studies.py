from __future__ import annotations

from pathlib import Path

import pytest

from tracklight.cli.flags import parse_flags
from tracklight.cli.logdir_arg import create_catalog
from tracklight.cli.serve import open_studies


def list_roots(arguments: list[str], extra: dict[str, Path]) -> list[tuple[str, str]]:
    catalog = create_catalog(parse_flags([*arguments, "--no-cache", "--no-config"]), extra)
    return [(root.name, root.path) for root in catalog.roots]


def test_studies_without_a_log(tmp_path: Path) -> None:
    assert list_roots([], {"optuna": tmp_path}) == [("", str(tmp_path))]


def test_studies_beside_a_log(tmp_path: Path) -> None:
    logs, studies = tmp_path / "logs", tmp_path / "studies"
    roots = list_roots(["--logdir", str(logs)], {"optuna": studies})
    assert roots == [("logs", str(logs)), ("optuna", str(studies))]


def test_each_storage_has_a_temporary_folder(tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    urls = []
    for name in ("a", "b"):
        urls.append(f"sqlite:///{tmp_path / name}.db")
        optuna.create_study(storage=urls[-1], study_name=name)
    with open_studies(urls) as folders:
        assert [*folders] == ["optuna", "optuna-2"]
        assert [[it.name for it in folder.iterdir()] for folder in folders.values()] == [
            ["a"],
            ["b"],
        ]
    assert not any(folder.exists() for folder in folders.values())
