from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tracklight.analysis.embeddings.loading import EmbeddingVersion, make_vectors, read_vectors
from tracklight.errors import FormatError, LogError
from tracklight.logdir.confined_files import ConfinedFiles

DATA = Path(__file__).parents[2] / "data"


def test_text_and_raw_memory_are_plain(tmp_path: Path) -> None:
    numbers = np.array([[1, 2.5], [-3, 1e30], [0, 7]], "<f4")
    (tmp_path / "t.tsv").write_text("1\t2.5\n-3\t1e30\n0\t7\n")
    (tmp_path / "t.bytes").write_bytes(numbers.tobytes())
    place = ConfinedFiles([str(tmp_path)])
    for name in ("t.tsv", "t.bytes"):
        version = EmbeddingVersion(None, "plain", str(tmp_path / name), shape=(3, 2))
        assert read_vectors(place, version).values.tobytes() == numbers.tobytes()
    with pytest.raises(
        FormatError, match=r'"t\.bytes" cannot be read: .* a tensor_shape that fits'
    ):
        read_vectors(place, EmbeddingVersion(None, "plain", str(tmp_path / "t.bytes")))


def test_tensors_of_files_are_read_by_their_keys() -> None:
    place = ConfinedFiles([str(DATA)])
    torch = EmbeddingVersion(1, "file", str(DATA / "weights/checkpoint.pth"), "model.words.weight")
    assert read_vectors(place, torch).values.shape == (9, 4)
    saved = EmbeddingVersion(1, "checkpoint", str(DATA / "checkpoints/slices"), "rows")
    assert read_vectors(place, saved).values.shape == (130, 3)
    lone = EmbeddingVersion(None, "file", str(DATA / "weights/lone.pt"))
    assert read_vectors(place, lone).values.shape == (9, 4)
    with pytest.raises(LogError, match="is outside the log directory"):
        read_vectors(ConfinedFiles([str(DATA / "checkpoints")]), torch)


def test_further_dimensions_are_laid_side_by_side() -> None:
    assert make_vectors(np.zeros((4, 2, 3)), "a").values.shape == (4, 6)
    assert make_vectors(np.ones((2, 2), bool), "a").values.dtype == np.float32


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.zeros(3), r"has the shape \[3\]; vectors are the rows"),
        (np.zeros((1, 3)), '"a" has 1 rows; there have to be at least 2'),
        (np.zeros((0, 3)), '"a" has 0 rows'),
        (np.zeros((3, 1)), "vectors of 1 number; a plane needs at least 2"),
        (np.zeros((3, 0)), "vectors of 0 number"),
        (np.zeros((3, 3), complex), "no plain numbers"),
        (np.array([[b"a", b"b"]] * 2, object), "no plain numbers"),
        (np.full((3, 3), np.nan), "every vector .* holds NaN"),
    ],
)
def test_what_can_be_no_vectors_is_a_sentence(array: np.ndarray, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        make_vectors(array, "a")


def test_vectors_with_nan_are_marked_and_told() -> None:
    values = np.full((4, 3), 3e38, np.float32)  # whose sums are not finite, though they are
    values[1, 2] = np.nan
    values[3, 0] = -np.inf
    found = make_vectors(values, "a")
    assert found.usable.tolist() == [True, False, True, False]
    assert found.problems == ("2 of 4 vectors hold NaN or an infinite number; they are left out",)
