"""Read checkpoints that TensorFlow wrote; ``told.json`` contains what TensorFlow reads."""

from __future__ import annotations

import contextlib
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.formats.checkpoints.digests import describe
from tests.formats.checkpoints.sstable_writer import table
from tracklight.errors import FormatError, LogError, UsageError
from tracklight.formats import proto
from tracklight.formats.checkpoints.tf_checkpoint import TensorFlowCheckpoint
from tracklight.formats.tensor import DType
from tracklight.formats.tfrecord import masked_crc32c
from tracklight.logdir.access import ConfinedFiles

DATA = Path(__file__).parents[2] / "data" / "checkpoints"
EXPECTED = json.loads((DATA / "told.json").read_text())


def open_checkpoint(folder: Path, name: str, **options: Any) -> TensorFlowCheckpoint:
    return TensorFlowCheckpoint(ConfinedFiles([str(folder)]), str(folder / name), **options)


@pytest.mark.parametrize("name", EXPECTED)
def test_tensors_match_tensorflow(name: str) -> None:
    checkpoint = open_checkpoint(DATA, name)
    assert {key: describe(checkpoint.read(key)) for key in EXPECTED[name]} == EXPECTED[name]
    shapes = {info.key: list(info.shape) for info in checkpoint.list_tensors()}
    expected = {key: found["shape"] for key, found in EXPECTED[name].items()}
    expected.pop("_CHECKPOINTABLE_OBJECT_GRAPH", None)
    assert shapes == expected


def test_names_of_variables_of_objects() -> None:
    shown = [
        info.name
        for info in open_checkpoint(DATA, "objects").list_tensors()
        if not info.is_optimizer_state
    ]
    assert {"words/table", "network/list/0", "network/odd/na.me"} <= set(shown)


def test_detects_optimizer_state() -> None:
    shown = {
        name: {
            i.name
            for i in open_checkpoint(DATA, name).list_tensors()
            if i.shape and not i.is_optimizer_state
        }
        for name in ("keras", "slices", "objects")
    }
    # The keys of Keras lead through the optimizer; TensorFlow 1 appends suffixes to names.
    names = {"sequential/words/embeddings", "sequential/out/kernel", "sequential/out/bias"}
    assert shown["keras"] == names
    assert shown["slices"] == {"rows", "columns"}
    assert not any("Adam" in name for name in shown["objects"])


def test_dtypes_have_numpy_names() -> None:
    dtypes = {info.key: info.dtype for info in open_checkpoint(DATA, "dtypes").list_tensors()}
    for name in ("float32", "float64", "float16", "bfloat16", "uint4", "bool", "float8_e5m2"):
        assert dtypes[name] == name
    texts = {info.key: info.dtype for info in open_checkpoint(DATA, "texts").list_tensors()}
    assert texts["texts"] == "string"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for path in DATA.glob("shards.*"):
        shutil.copyfile(path, tmp_path / path.name)
    return tmp_path


def test_missing_index_is_incomplete(copy: Path) -> None:
    (copy / "shards.index").unlink()
    with pytest.raises(
        FormatError, match=r'"shards" is incomplete: the index is missing\. If it is still'
    ):
        open_checkpoint(copy, "shards")


def test_truncated_index_is_incomplete(copy: Path) -> None:
    data = (copy / "shards.index").read_bytes()
    (copy / "shards.index").write_bytes(data[:-5])
    with pytest.raises(FormatError, match="is incomplete: the footer is missing"):
        open_checkpoint(copy, "shards")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: path.unlink(), "data-00001-of-00003 is missing. If it is still"),
        (lambda path: path.write_bytes(b"abc"), "data-00001-of-00003 is truncated"),
        (lambda path: path.write_bytes(b"a" * 16), "cannot be read: its checksum is wrong"),
    ],
)
def test_damaged_shard_affects_only_its_tensors(copy: Path, change: Any, message: str) -> None:
    change(copy / "shards.data-00001-of-00003")
    checkpoint = open_checkpoint(copy, "shards")
    with pytest.raises(FormatError, match=f'the tensor "layer1/w" of .*"shards" .*{message}'):
        checkpoint.read("layer1/w")
    assert checkpoint.read("layer2/w").tolist() == [[2, 2, 2], [2, 2, 2]]


def test_unknown_key_raises() -> None:
    with pytest.raises(UsageError, match='no tensor "nothing" in the checkpoint "texts"'):
        open_checkpoint(DATA, "texts").read("nothing")


def test_limit_is_checked_before_allocation() -> None:
    with pytest.raises(FormatError, match="more than 100"):
        open_checkpoint(DATA, "slices", max_bytes=100).read("rows")
    with pytest.raises(FormatError, match=r"its strings take [0-9]+ bytes, more than 60"):
        open_checkpoint(DATA, "texts", max_bytes=60).read("texts")


def test_does_not_read_shards_outside_of_logdir(copy: Path, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (copy / "shards.index").rename(folder / "shards.index")
    (folder / "shards.data-00001-of-00003").symlink_to(copy / "shards.data-00001-of-00003")
    with pytest.raises(LogError, match="is outside the log directory"):
        open_checkpoint(folder, "shards").read("layer1/w")


def write(
    folder: Path, entries: dict[bytes, Any], data: bytes, **header: int
) -> TensorFlowCheckpoint:
    """Write a checkpoint with these entries; bytes are written unchanged."""
    pairs = {b"": proto.BundleHeaderProto(num_shards=1, **header).SerializeToString()}
    for key, entry in entries.items():
        pairs[key] = entry if isinstance(entry, bytes) else entry.SerializeToString()
    (folder / "made.index").write_bytes(table(pairs))
    (folder / "made.data-00000-of-00001").write_bytes(data)
    return open_checkpoint(folder, "made")


def make_entry(data: bytes, shape: list[int], dtype: int = DType.FLOAT, **fields: Any) -> Any:
    dims = proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in shape])
    fields = {"size": len(data), "crc32c": masked_crc32c(data), **fields}
    return proto.BundleEntryProto(dtype=dtype, shape=dims, **fields)


def test_reads_big_endian(tmp_path: Path) -> None:
    data = np.array([1.5, -2.0], ">f4").tobytes()
    checkpoint = write(tmp_path, {b"w": make_entry(data, [2])}, data, endianness=1)
    array = checkpoint.read("w")
    assert array.tolist() == [1.5, -2.0]
    assert array.dtype == np.dtype("<f4")


LENGTHS_CRC = struct.pack("<I", masked_crc32c(b"\x05\0\0\0"))


@pytest.mark.parametrize(
    ("data", "shape", "fields", "message"),
    [
        (b"abcd", [2], {}, r"shape \[2\] takes 8 bytes, but it has 4"),
        (b"abcd", [1], {"offset": -1}, "negative"),
        (b"abcd", [-1], {}, "shape of the tensor is unknown"),
        (b"abcd", [1], {"dtype": DType.VARIANT}, "variant contain no values"),
        (b"abcd", [1], {"dtype": 77}, "unknown tensor dtype 77"),
        (b"abcd", [9], {"dtype": DType.STRING}, "9 strings do not fit in 4 bytes"),
        (b"\x01abcdz", [1], {"dtype": DType.STRING}, "checksum of the string lengths"),
        (b"\x05" + LENGTHS_CRC + b"abc", [1], {"dtype": DType.STRING}, "strings do not add up"),
    ],
)
def test_damaged_entry_raises(
    tmp_path: Path, data: bytes, shape: list[int], fields: dict[str, Any], message: str
) -> None:
    checkpoint = write(tmp_path, {b"w": make_entry(data, shape, **fields)}, data)
    with pytest.raises(FormatError, match=message):
        checkpoint.read("w")


def test_missing_slice_raises(tmp_path: Path) -> None:
    part = proto.TensorSliceProto(extent=[proto.SliceExtent(start=0, length=1)])
    entry = make_entry(b"", [2], slices=[part])
    with pytest.raises(FormatError, match=r"the slice \[\(0, 1\)\] is missing"):
        write(tmp_path, {b"w": entry}, b"").read("w")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.dictionaries(st.binary(max_size=8), st.binary(max_size=60), max_size=4), st.binary())
def test_random_entries_raise_only_format_error(
    tmp_path: Path, entries: dict[bytes, bytes], data: bytes
) -> None:
    with contextlib.suppress(FormatError):
        checkpoint = write(tmp_path, {b"k" + key: value for key, value in entries.items()}, data)
        for info in checkpoint.list_tensors():
            with contextlib.suppress(FormatError):
                checkpoint.read(info.key)
