from __future__ import annotations

import contextlib
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.errors import FormatError, UsageError
from tracklight.formats.checkpoints.tensor_file import SafetensorsFile


def make(header: Any, data: bytes = b"\x00" * 16) -> io.BytesIO:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return io.BytesIO(len(text).to_bytes(8, "little") + text + data)


def entry(dtype: str = "F32", shape: Any = (2, 2), offsets: Any = (0, 16)) -> Any:
    return {"w": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


def test_lists_and_reads_tensors() -> None:
    file = SafetensorsFile(make({"__metadata__": {"format": "pt"}, **entry()}))
    assert [info.key for info in file.list_tensors()] == ["w"]
    assert file.read("w").tolist() == [[0, 0], [0, 0]]
    with pytest.raises(UsageError, match='no tensor "v"'):
        file.read("v")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (io.BytesIO(b"abc"), "has only 3 bytes"),
        (io.BytesIO(b"\xff" * 20), "the header has"),
        (make(b"{"), "header of the safetensors file is invalid"),
        (make({"w": 3}), "header of the safetensors file is invalid"),
        (make(entry(offsets=(0, 20))), "ends beyond the file, which may be incomplete"),
        (make(entry(offsets=(4, 2))), "ends beyond the file"),
        (make(entry(shape=(3, 2))), r'"w" has 16 bytes, which do not match its shape \[3, 2\]'),
        (make(entry(shape=(-1, 2))), "is not a valid shape"),
        (make(entry(shape=(1 << 40, 1 << 40))), "takes more than"),
    ],
)
def test_damaged_file_raises(file: io.BytesIO, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        SafetensorsFile(file)


def test_unknown_type_affects_only_its_tensor() -> None:
    file = SafetensorsFile(make({**entry(dtype="F4"), "v": entry()["w"]}))
    with pytest.raises(FormatError, match="has the unsupported type F4"):
        file.read("w")
    assert file.read("v").shape == (2, 2)


@given(st.binary(max_size=80), st.binary(max_size=20))
def test_random_bytes_raise_only_format_error(header: bytes, data: bytes) -> None:
    for file in (io.BytesIO(header), make(header, data)):
        with contextlib.suppress(FormatError):
            opened = SafetensorsFile(file)
            for info in opened.list_tensors():
                opened.read(info.key)
