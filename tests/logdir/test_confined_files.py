from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from tracklight.errors import FormatError, LogError
from tracklight.formats.checkpoints.tensor_file import get_file_size, read_array, read_exactly
from tracklight.logdir.access import ConfinedFiles, join_path


@pytest.fixture
def files(tmp_path: Path) -> ConfinedFiles:
    (tmp_path / "logs" / "run").mkdir(parents=True)
    (tmp_path / "logs" / "run" / "a.bin").write_bytes(bytes(range(200)) * 1000)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "logs2").write_text("a name that only begins like the folder's")
    return ConfinedFiles([str(tmp_path / "logs")])


def test_reads_files_below_log_directory(files: ConfinedFiles, tmp_path: Path) -> None:
    with files.open(str(tmp_path / "logs/run/a.bin")) as file:
        assert get_file_size(file) == 200_000
        assert read_exactly(file, 199, 3) == b"\xc7\x00\x01"
        array = read_array(file, 2, np.dtype("<u2"), (2, 3))
    assert array.tolist() == [[0x0302, 0x0504, 0x0706], [0x0908, 0x0B0A, 0x0D0C]]
    assert files.find_size(str(tmp_path / "logs/run/a.bin")) == 200_000
    assert "200000" in files.get_fingerprint(str(tmp_path / "logs/run/a.bin"))
    assert files.find_size(str(tmp_path / "logs/run/none")) is None
    assert files.get_fingerprint(str(tmp_path / "logs/run/none")) == ""
    assert files.list_file_names(str(tmp_path / "logs/run")) == ["a.bin"]
    assert files.list_file_names(str(tmp_path / "logs")) == []


@pytest.mark.parametrize("path", ["secret", "logs/../secret", "logs2", "logs/link", "/etc/passwd"])
def test_rejects_paths_outside_logdir(files: ConfinedFiles, tmp_path: Path, path: str) -> None:
    (tmp_path / "logs" / "link").symlink_to(tmp_path / "secret")
    for method in (files.open, files.find_size, files.get_fingerprint, files.list_file_names):
        with pytest.raises(LogError, match="is outside the log directory"):
            method(join_path(str(tmp_path), path))


def test_rejects_urls_outside_root() -> None:
    files = ConfinedFiles(["s3://bucket/logs"])
    files.check_path("s3://bucket/logs/run/ckpt")
    for path in ("s3://bucket/logs/../other", "s3://bucket/logs2", "gs://bucket/logs/a", "/logs"):
        with pytest.raises(LogError, match="is outside"):
            files.check_path(path)
    assert join_path("s3://bucket/logs", "a/b.tsv") == "s3://bucket/logs/a/b.tsv"
    assert join_path("s3://bucket/logs", "/etc/passwd") == "/etc/passwd"


def test_reports_files_that_cannot_be_read(files: ConfinedFiles, tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r'no file ".*none"'):
        files.open(str(tmp_path / "logs/none"))
    with pytest.raises(LogError, match="no file"):
        files.open(str(tmp_path / "logs/run"))


def test_reports_truncated_file() -> None:
    with pytest.raises(FormatError, match="3 bytes are missing"):
        read_exactly(io.BytesIO(b"abc"), 1, 5)
    with pytest.raises(FormatError, match="5 bytes are missing"):
        read_array(io.BytesIO(b"abc"), 0, np.dtype("<f4"), (2,))
