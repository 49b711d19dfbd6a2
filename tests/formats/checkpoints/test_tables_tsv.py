from __future__ import annotations

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.errors import FormatError
from tracklight.formats.checkpoints import TsvFile, read_raw_vectors, read_tsv_vectors


def test_lines_are_vectors() -> None:
    labels, vectors = read_tsv_vectors(io.BytesIO(b"\n1\t2.5\n\n-3e2\tnan\r\n"))
    assert labels == []
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors, np.array([[1, 2.5], [-300, np.nan]], np.float32))


def test_first_cell_may_be_a_label() -> None:
    file = TsvFile(io.BytesIO("der\t1\t2\ndié\t3\t4\n".encode()), "words")
    assert file.labels == {"label": ["der", "dié"]}
    assert file.read("words").tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"1\t2\n\n3\t4\t5\n", "line 3 has 3 tab-separated cells instead of 2"),
        (b"1\t2\n3\n", "line 2 has 1 tab-separated cells instead of 2"),
        (b"1\t2\n3\tx\n", 'line 2 has "x" instead of a number'),
        (b"1\t2\nx\t3\n", "only some of the lines begin with a number"),
        (b"a\tb\n1\t2\n", 'line 1 has "b" instead'),
        (b"a\nb\n", 'line 1 has "a" instead'),
        (b"\xff\xfe\x00", "is not text; raw float32 files need a matching tensor_shape"),
    ],
)
def test_invalid_lines_raise(text: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_tsv_vectors(io.BytesIO(text))


def test_too_long_text_raises() -> None:
    with pytest.raises(FormatError, match="larger than the limit"):
        read_tsv_vectors(io.BytesIO(b"1\t2\n"), max_bytes=2)


def test_raw_vectors_need_matching_shape() -> None:
    data = np.arange(6, dtype="<f4").tobytes()
    assert read_raw_vectors(io.BytesIO(data), [2, 3]).tolist() == [[0, 1, 2], [3, 4, 5]]
    for shape in ([2, 2], [], [6], [0, 3]):
        with pytest.raises(FormatError, match="the file has 24 bytes, but tensor_shape"):
            read_raw_vectors(io.BytesIO(data), shape)


@given(st.binary(max_size=60) | st.text("12.e-\tn\n a", max_size=60).map(str.encode))
def test_random_bytes_raise_only_format_error(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        labels, vectors = read_tsv_vectors(io.BytesIO(data))
        assert vectors.ndim == 2
        assert len(labels) in (0, len(vectors))
