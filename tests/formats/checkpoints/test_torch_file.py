from __future__ import annotations

import io
import pickle
import struct
import zipfile
from typing import Any

import pytest

from tracklight.errors import FormatError, UsageError
from tracklight.formats.checkpoints.torch_file import TorchFile


def reduced(function: str, *arguments: bytes) -> bytes:
    module, _, name = function.rpartition(".")
    return f"c{module}\n{name}\n".encode() + b"(" + b"".join(arguments) + b"tR"


def literal(value: Any) -> bytes:
    return pickle.dumps(value, 2)[2:-1].replace(b"q\x00", b"").replace(b"q\x01", b"")


def tensor(offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    parts = (literal("storage"), b"ctorch\nFloatStorage\n", literal("0"), literal("cpu"))
    storage = b"(" + b"".join(parts) + literal(6) + b"tQ"
    numbers = [literal(offset), literal(shape), literal(strides)]
    return reduced("torch._utils._rebuild_tensor_v2", storage, *numbers)


def archive(content: bytes, order: bytes = b"little", **members: bytes) -> io.BytesIO:
    buffer = io.BytesIO()
    numbers = struct.pack(("<" if order == b"little" else ">") + "6f", *range(6))
    with zipfile.ZipFile(buffer, "w") as out:
        out.writestr("a/data.pkl", b"\x80\x02" + content + b".")
        out.writestr("a/byteorder", order)
        for name, data in {"0": numbers, **members}.items():
            out.writestr(f"a/data/{name}", data)
    return buffer


@pytest.mark.parametrize("order", [b"little", b"big"])
def test_reads_strided_views(order: bytes) -> None:
    file = TorchFile(archive(tensor(1, (2, 2), (1, 3)), order), "t")
    assert file.read("t").tolist() == [[1, 4], [2, 5]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (tensor(3, (2, 2), (2, 1)), "4 bytes are missing"),
        (tensor(0, (2, 2), (-1, 1)), "strides are invalid"),
        (tensor(-1, (2,), (1,)), "strides are invalid"),
        (tensor(0, (2, 2), (1,)), "strides are invalid"),
        (tensor(0, (1 << 20, 1 << 20), (0, 0)), "takes more than"),
        (tensor(0, (2,), (1 << 40,)), "takes more than"),
    ],
)
def test_view_beyond_storage_raises(content: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        TorchFile(archive(content), "t").read("t")


def test_missing_data_raises() -> None:
    content = tensor(0, (2,), (1,)).replace(b"X\x01\x00\x00\x000", b"X\x01\x00\x00\x001")
    with pytest.raises(FormatError, match="its data is not in the archive"):
        TorchFile(archive(content), "t").read("t")


def test_finds_nested_tensors() -> None:
    one = tensor(0, (2,), (1,))
    keyed = literal("model") + b"}" + literal("a.b") + one + b"s"
    listed = literal("more") + b"](" + one + one + b"e"
    file = TorchFile(archive(b"}(" + keyed + listed + b"u"), "t")
    assert {info.key: info.name for info in file.list_tensors()} == {
        "model.a.b": "a.b",
        "more.0": "more.0",
        "more.1": "more.1",
    }
    with pytest.raises(UsageError, match='no tensor "nothing"'):
        file.read("nothing")


def test_cyclic_objects() -> None:
    itself = b"]q\x00h\x00a"
    doubled = b"]q\x01" + b"".join(
        b"](h" + bytes([place]) + b"h" + bytes([place]) + b"eq" + bytes([place + 1])
        for place in range(1, 60)
    )
    for content in (itself, doubled):
        assert TorchFile(archive(content), "t").list_tensors() == []
