from __future__ import annotations

from pathlib import Path

import pytest

import tracklight
from tracklight.errors import LogdirNotFoundError, LogError
from tracklight.logdir.access import find_nearest_path


def test_raises_for_a_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(LogdirNotFoundError, match=r'No log directory ".*typo".*missing_ok=True'):
        tracklight.open(tmp_path / "typo", cache=False)
    assert issubclass(LogdirNotFoundError, FileNotFoundError)
    assert issubclass(LogdirNotFoundError, LogError)


def test_error_names_a_similar_directory(
    small_logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small_logdir.parent)

    with pytest.raises(LogdirNotFoundError) as caught:
        tracklight.open("log", cache=False)

    assert str(caught.value) == 'No log directory "log". Did you mean "logs"?'
    assert caught.value.path == "log"


@pytest.mark.parametrize(
    "spec", [{"a": "logs", "b": "logz"}, ["logs", "logz"], "a:logs,b:logz", Path("logz")]
)
def test_raises_if_one_of_several_directories_is_missing(
    spec: object, small_logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(small_logdir.parent)

    with pytest.raises(LogdirNotFoundError, match='No log directory "logz"'):
        tracklight.open(spec, cache=False)  # type: ignore[arg-type]


def test_missing_ok_returns_an_empty_log(tmp_path: Path) -> None:
    with tracklight.open(tmp_path / "later", cache=False, missing_ok=True) as log:
        assert log.runs == ()


def test_opens_an_empty_directory(tmp_path: Path) -> None:
    with tracklight.open(tmp_path, cache=False) as log:
        assert log.runs == ()


def test_raises_for_a_missing_url() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.mkdirs("/bucket/logs", exist_ok=True)

    with pytest.raises(LogdirNotFoundError, match="memory://bucket/typo"):
        tracklight.open("memory://bucket/typo", cache=False)
    with tracklight.open("memory://bucket/logs", cache=False) as log:
        assert log.runs == ()


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("traim", "train"),
        ("traim/one", "train/one"),
        ("traim/two", "train"),
        ("train/on", "train/one"),
        ("completely different", None),
        ("train/one/x", None),
    ],
)
def test_finds_the_nearest_path(path: str, nearest: str | None, tmp_path: Path) -> None:
    (tmp_path / "train/one").mkdir(parents=True)
    (tmp_path / "trainz").touch()

    actual = find_nearest_path(str(tmp_path / path))

    assert actual == (str(tmp_path / nearest) if nearest else None)
