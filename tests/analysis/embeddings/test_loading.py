from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tracklight.analysis.embeddings import EmbeddingVersion, make_vectors, read_vectors
from tracklight.errors import FormatError, LogError
from tracklight.logdir.access import ConfinedFiles

DATA = Path(__file__).parents[2] / "data"


def test_reads_tab_separated_and_raw_numbers(tmp_path: Path) -> None:
    numbers = np.array([[1, 2.5], [-3, 1e30], [0, 7]], "<f4")
    (tmp_path / "t.tsv").write_text("1\t2.5\n-3\t1e30\n0\t7\n")
    (tmp_path / "t.bytes").write_bytes(numbers.tobytes())
    files = ConfinedFiles([str(tmp_path)])
    for name in ("t.tsv", "t.bytes"):
        version = EmbeddingVersion(None, "plain", str(tmp_path / name), shape=(3, 2))
        assert read_vectors(files, version).values.tobytes() == numbers.tobytes()
    with pytest.raises(FormatError, match=r'"t\.bytes" cannot be read: .* a matching tensor_shape'):
        read_vectors(files, EmbeddingVersion(None, "plain", str(tmp_path / "t.bytes")))


def test_reads_tensors_by_key() -> None:
    files = ConfinedFiles([str(DATA)])
    torch = EmbeddingVersion(1, "file", str(DATA / "weights/checkpoint.pth"), "model.words.weight")
    assert read_vectors(files, torch).values.shape == (9, 4)
    saved = EmbeddingVersion(1, "checkpoint", str(DATA / "checkpoints/slices"), "rows")
    assert read_vectors(files, saved).values.shape == (130, 3)
    lone = EmbeddingVersion(None, "file", str(DATA / "weights/lone.pt"))
    assert read_vectors(files, lone).values.shape == (9, 4)
    with pytest.raises(LogError, match="is outside the log directory"):
        read_vectors(ConfinedFiles([str(DATA / "checkpoints")]), torch)


def test_flattens_further_dimensions() -> None:
    assert make_vectors(np.zeros((4, 2, 3)), "a").values.shape == (4, 6)
    assert make_vectors(np.ones((2, 2), bool), "a").values.dtype == np.float32


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), r"has the shape \[3\]; vectors need two dimensions"),
        (np.zeros((1, 3)), 'vectors in "a": 1; at least 2'),
        (np.zeros((0, 3)), 'vectors in "a": 0;'),
        (np.zeros((3, 1)), "vectors of length 1; at least 2"),
        (np.zeros((3, 0)), "vectors of length 0"),
        (np.zeros((3, 3), complex), "type complex128; vectors must be numbers"),
        (np.array([[b"a", b"b"]] * 2, object), "type object; vectors must be numbers"),
        (np.full((3, 3), np.nan), "every vector .* contains NaN"),
    ],
)
def test_rejects_arrays_that_are_not_vectors(array: np.ndarray, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        make_vectors(array, "a")


def test_non_finite_vectors_are_marked_and_reported() -> None:
    values = np.full((4, 3), 3e38, np.float32)  # the values are finite, but not their sums
    values[1, 2] = np.nan
    values[3, 0] = -np.inf
    vectors = make_vectors(values, "a")
    assert vectors.usable.tolist() == [True, False, True, False]
    assert list(map(str, vectors.problems)) == ["left out 2 of 4 vectors with NaN or infinity"]
