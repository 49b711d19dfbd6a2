"""Event files below a URL, written through fsspec."""

from __future__ import annotations

import logging
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.writer.event_files import read_scalars
from tracklight.errors import MissingDependencyError
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.writer_thread import RemoteSink

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def store() -> Iterator[Any]:
    store = fsspec.filesystem("memory")
    yield store
    store.store.clear()


def test_flush_uploads_the_whole_file(store: Any, tmp_path: Path) -> None:
    url = f"memory://{uuid.uuid4()}/run"
    with EventWriter(url, flush_s=1000) as writer:
        for step in range(3):
            writer.scalar("loss", 1.0, step)
            assert writer.flush()
            store.get(url, str(tmp_path / str(step)), recursive=True)
            assert len(read_scalars(tmp_path / str(step))) == step + 1
        assert writer.path.startswith(url)


def test_close_removes_the_temporary_file(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    writer = EventWriter("memory://bucket/run")
    assert len(list(tmp_path.iterdir())) == 1
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_upload_error_is_reported_once_and_retried(
    store: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "tracklight")

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no credentials")

    with EventWriter("memory://bucket/run") as writer:
        with monkeypatch.context() as patch:
            patch.setattr(type(store), "put_file", fail)
            writer.scalar("loss", 1.0, 1)
            assert not writer.flush()
            assert not writer.flush()
        assert writer.flush()
    assert len([text for text in caplog.messages if "no credentials" in text]) == 1
    assert len(store.ls("/bucket/run")) == 1


def test_names_the_missing_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sink = RemoteSink("memory://bucket/run")
    sink.open(b"header")
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingDependencyError, match=r"tracklight\[remote\]"):
        sink.sync()
    sink.close()
    sink.close()
    assert list(tmp_path.iterdir()) == []
