from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.formats.checkpoints.tensor_file import NpyFile, NpzFile


def saved(array: NDArray[Any]) -> io.BytesIO:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
        np.arange(6, dtype=">f8").reshape(3, 2),
        np.zeros((0, 4), np.float16),
        np.array(True),
    ],
)
def test_npy_round_trip(array: NDArray[Any]) -> None:
    file = NpyFile(saved(array), "a")
    assert [info.shape for info in file.list_tensors()] == [array.shape]
    read = file.read("a")
    assert read.dtype == array.dtype.newbyteorder("=")
    assert np.array_equal(read, array)
    with pytest.raises(UsageError):
        file.read("b")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_contains_several_arrays(save: Any) -> None:
    buffer = io.BytesIO()
    save(buffer, a=np.eye(2), b=np.asfortranarray(np.arange(6).reshape(2, 3)))
    file = NpzFile(buffer)
    assert [info.name for info in file.list_tensors()] == ["a", "b"]
    assert file.read("b").tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(UsageError):
        file.read("c")


def test_object_arrays_are_not_unpickled() -> None:
    with pytest.raises(FormatError, match="are not supported; only numbers are"):
        NpyFile(saved(np.array([{}, []], object)), "a")


def test_damaged_file_raises() -> None:
    whole = saved(np.eye(9)).getvalue()
    with pytest.raises(FormatError, match="may be incomplete"):
        NpyFile(io.BytesIO(whole[:-1]), "a").read("a")
    with pytest.raises(FormatError, match="header of the array is invalid"):
        NpyFile(io.BytesIO(b"hello"), "a")
    large = whole.replace(b"(9, 9), }          ", b"(999999999, 9999), }")
    with pytest.raises(FormatError, match="takes more than"):
        NpyFile(io.BytesIO(large), "a").read("a")


@given(st.binary(max_size=100), st.integers(0, 300))
def test_random_bytes_raise_only_format_error(data: bytes, cut: int) -> None:
    whole = saved(np.eye(3)).getvalue()
    for part in (data, whole[:cut], whole[:10] + data + whole[10 + len(data) :]):
        with contextlib.suppress(FormatError):
            NpyFile(io.BytesIO(part), "a").read("a")
        with contextlib.suppress(FormatError):
            NpzFile(io.BytesIO(part)).list_tensors()
