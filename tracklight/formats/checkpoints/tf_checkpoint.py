"""Names of variables as people know them, and which of them only an optimizer needs.

TensorFlow 2 saves objects that hold objects, and a variable goes by the shortest way that leads
to it. That may be through the optimizer, so what a variable is cannot be told from its key: the
saved graph of objects tells.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import posixpath
import re
import struct
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.formats import proto
from tracklight.formats.checkpoints import sstable
from tracklight.formats.checkpoints.tensor_file import (
    MAX_ARRAY_BYTES,
    TensorInfo,
    get_file_size,
    read_array,
    read_exactly,
)
from tracklight.formats.proto import Message
from tracklight.formats.tensor import (
    DType,
    check_size,
    get_dtype,
    get_dtype_name,
    get_shape,
    get_storage_dtype,
    widen,
)
from tracklight.formats.tfrecord import masked_crc32c
from tracklight.formats.wire_format import read_varint
from tracklight.logdir.confined_files import ConfinedFiles

OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"

_VARIABLE_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"

_SLOT_MARKER = "/.OPTIMIZER_SLOT/"

#: What TensorFlow calls a variable that was given no name.
_UNNAMED = re.compile(r"(.*/)?Variable(_\d+)?")

#: What TensorFlow 1 appends to the name of a variable for the state that an optimizer keeps of it.
_V1_STATE = re.compile(
    r"(.+)/(Adam(ax|W|_\d+)?(_\d+)?|Ada(grad|delta|gradDA)(_\d+)?|Momentum(_\d+)?|RMSProp(_\d+)?"
    r"|Ftrl(_\d+)?|ExponentialMovingAverage|LARS\w*|LAMB\w*)"
)

#: Beside the list of its variables, an optimizer has at least one of these.
_OPTIMIZER_MARKS = {b"_learning_rate", b"learning_rate", b"_iterations", b"iterations"}


@dataclass
class ObjectGraph:
    """What the graph of objects says of keys; empty where there is none."""

    full_names: dict[str, str] = field(default_factory=dict)
    optimizer_keys: set[str] = field(default_factory=set)


def parse_object_graph(data: bytes) -> ObjectGraph:
    """Take what is worth knowing from a TrackableObjectGraph."""
    nodes = proto.parse("TrackableObjectGraph", data).nodes
    objects = ObjectGraph()
    state = set(_iter_state_nodes(nodes))
    for place, node in enumerate(nodes):
        for attribute in node.attributes:
            key = decode_key(attribute.checkpoint_key)
            objects.full_names[key] = decode_key(attribute.full_name)
            if place in state:
                objects.optimizer_keys.add(key)
    return objects


def _iter_state_nodes(nodes: Iterable[Message]) -> Iterator[int]:
    nodes = list(nodes)
    for node in nodes:
        yield from (slot.slot_variable_node_id for slot in node.slot_variables)
        children = {child.local_name: child.node_id for child in node.children}
        if b"_variables" in children and _OPTIMIZER_MARKS & children.keys():
            trained = _list_children(nodes, children.get(b"_trainable_variables", -1))
            yield from set(_list_children(nodes, children[b"_variables"])) - set(trained)


def _list_children(nodes: list[Message], place: int) -> list[int]:
    if not 0 <= place < len(nodes):
        return []
    return [child.node_id for child in nodes[place].children]


def make_variable_names(keys: Collection[str], objects: ObjectGraph) -> dict[str, str]:
    """The name to show for every key, each only once."""
    full_names = {key: objects.full_names.get(key, "") for key in keys}
    counts = Counter(full_names.values())
    return {
        key: full if full and counts[full] == 1 and not _UNNAMED.fullmatch(full) else _shorten(key)
        for key, full in full_names.items()
    }


def _shorten(key: str) -> str:
    if not key.endswith(_VARIABLE_SUFFIX):
        return key
    return key.removesuffix(_VARIABLE_SUFFIX).replace(".S", "/").replace("..", ".")


def is_optimizer_state(key: str, keys: Collection[str], objects: ObjectGraph) -> bool:
    """Whether only an optimizer needs what stands under a key."""
    if key in objects.optimizer_keys or _SLOT_MARKER in key:
        return True
    owner = _V1_STATE.fullmatch(key)
    return owner is not None and owner[1] in keys


def decode_key(text: bytes) -> str:
    return text.decode("utf-8", "replace")


# Variables that were saved in parts: the keys of the parts, and where each belongs.
#
# A part's key is made of numbers and texts in a code that sorts like what it stands for.

#: Keys of parts begin with this, and no other key does.
SLICE_KEY_PREFIX = b"\x00"

_FULL_LENGTH = -1

_ESCAPED = {b"\x00": b"\x00\xff", b"\xff": b"\xff\x00"}


class SliceExtent(NamedTuple):
    """A stretch of one dimension."""

    start: int
    length: int


def encode_slice_key(name: bytes, extents: Sequence[SliceExtent]) -> bytes:
    """The key under which a part of a tensor is saved."""
    escaped = re.sub(rb"[\x00\xff]", lambda byte: _ESCAPED[byte[0]], name)
    rank = len(extents)
    size = (rank.bit_length() + 7) // 8
    head = SLICE_KEY_PREFIX + escaped + b"\x00\x01" + bytes([size]) + rank.to_bytes(size, "big")
    return head + b"".join(_encode_signed(number) for extent in extents for number in extent)


def _encode_signed(number: int) -> bytes:
    """The number of leading ones tells how many bytes there are; negative ones are inverted."""
    size = 1
    magnitude = ~number if number < 0 else number
    while magnitude >> (7 * size - 1):
        size += 1
    if size > 8:
        raise FormatError(f"a part of a tensor at {number}")
    code = magnitude | ((1 << size) - 1) << (7 * size)
    if number < 0:
        code ^= (1 << 8 * size) - 1
    return code.to_bytes(size, "big")


def parse_extents(part: Message) -> list[SliceExtent]:
    """The stretches that a part covers, as they stand in its key."""
    return [
        SliceExtent(extent.start, extent.length if extent.HasField("has_length") else _FULL_LENGTH)
        for extent in part.extent
    ]


def to_slices(extents: Sequence[SliceExtent], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Where a part belongs in the whole."""
    if len(extents) != len(shape):
        raise FormatError(f"a part of {len(extents)} dimensions of a tensor of {len(shape)}")
    place = []
    for (start, length), size in zip(extents, shape, strict=True):
        end = size if length == _FULL_LENGTH else start + length
        if not 0 <= start <= end <= size:
            raise FormatError(f"a part from {start} to {end} of a dimension of {size}")
        place.append(slice(start, end))
    return tuple(place)


# Tensors of text in a checkpoint: all lengths, a checksum of them, then all bytes.

_CRC_BYTES = 4

_LONGEST_UINT32 = (1 << 32) - 1


def decode_string_tensor(data: bytes, count: int) -> tuple[NDArray[Any], int]:
    """An object array of ``count`` texts, and the checksum that its entry must have.

    Checksums are of the lengths as numbers of a fixed width and not as they are stored.
    """
    lengths, at = _read_lengths(data, count)
    packed = b"".join(
        struct.pack("<I" if length <= _LONGEST_UINT32 else "<Q", length) for length in lengths
    )
    stored = data[at : at + _CRC_BYTES]
    if stored != struct.pack("<I", masked_crc32c(packed)):
        raise FormatError("the checksum of the lengths of its texts is wrong")
    at += _CRC_BYTES
    if at + sum(lengths) != len(data):
        raise FormatError(f"the lengths of its {count} texts do not add up")
    texts = np.empty(count, object)
    ends = itertools.accumulate(lengths, initial=at)
    texts[:] = [data[start:end] for start, end in itertools.pairwise(ends)]
    return texts, masked_crc32c(packed + data[at - _CRC_BYTES :])


def _read_lengths(data: bytes, count: int) -> tuple[list[int], int]:
    if count > len(data):
        raise FormatError(f"{count} texts in {len(data)} bytes")
    at = 0
    lengths = []
    for _ in range(count):
        length, at = read_varint(data, at, len(data))
        lengths.append(length)
    return lengths, at


# TensorFlow's checkpoints, the kind of two files and more: ``P.index`` and ``P.data-…-of-…``.
#
# The index is a table of entries, each of which says where the bytes of a tensor stand and what
# they are. The whole of it is read at once; tensors are read one by one.

_BIG_ENDIAN = 1


class TensorFlowCheckpoint:
    """A checkpoint by its prefix: the path of its files without ``.index``."""

    def __init__(
        self, files: ConfinedFiles, prefix: str, *, max_bytes: int = MAX_ARRAY_BYTES
    ) -> None:
        self._files = files
        self._prefix = prefix
        self._max_bytes = max_bytes
        with self._explained():
            entries = sstable.parse_table(self._read_index())
            header = proto.parse("BundleHeaderProto", entries.pop(b"", b""))
            self._entries = {
                key: proto.parse("BundleEntryProto", value) for key, value in entries.items()
            }
        self._shards = header.num_shards
        self._order: Literal["<", ">"] = ">" if header.endianness == _BIG_ENDIAN else "<"
        self._keys = {decode_key(key): key for key in self._entries if key[:1] != SLICE_KEY_PREFIX}

    def list_tensors(self) -> Sequence[TensorInfo]:
        known = self._read_objects()
        names = make_variable_names(self._keys, known)
        return [
            self._describe(key, names[key], is_optimizer_state(key, self._keys, known))
            for key in self._keys
            if key != OBJECT_GRAPH_KEY
        ]

    def read(self, key: str) -> NDArray[Any]:
        raw = self._keys.get(key)
        if raw is None:
            raise UsageError(f'the checkpoint "{self._name}" has no tensor "{key}"')
        with self._explained(key):
            entry = self._entries[raw]
            dtype, shape = get_dtype(entry.dtype), get_shape(entry.shape)
            check_size(dtype, shape, self._max_bytes)
            if entry.slices:
                return self._read_slices(raw, entry, dtype, shape)
            return self._read_whole(entry, dtype, shape)

    @property
    def _name(self) -> str:
        return posixpath.basename(self._prefix.replace("\\", "/"))

    @contextlib.contextmanager
    def _explained(self, key: str = "") -> Iterator[None]:
        what = f'the tensor "{key}" of the checkpoint' if key else "the checkpoint"
        try:
            yield
        except sstable.IncompleteTableError as error:
            raise FormatError(
                f'{what} "{self._name}" is not whole: {error}. It may still be being written; '
                "look again in a while"
            ) from None
        except FormatError as error:
            raise FormatError(f'{what} "{self._name}" cannot be read: {error}') from None

    def _read_index(self) -> bytes:
        path = f"{self._prefix}.index"
        size = self._files.find_size(path)
        if size is None:
            raise sstable.IncompleteTableError("it has no index")
        if size > sstable.MAX_TABLE_BYTES:
            raise FormatError(f"its index has {size} bytes, more than {sstable.MAX_TABLE_BYTES}")
        with self._files.open(path) as file:
            return file.read(size)

    def _read_objects(self) -> ObjectGraph:
        if OBJECT_GRAPH_KEY not in self._keys:
            return ObjectGraph()
        try:
            return parse_object_graph(bytes(self.read(OBJECT_GRAPH_KEY).item()))
        except (FormatError, ValueError, TypeError):
            # Names are a comfort: tensors can be read without them.
            return ObjectGraph()

    def _describe(self, key: str, name: str, is_state: bool) -> TensorInfo:
        entry = self._entries[self._keys[key]]
        with self._explained(key):
            shape = get_shape(entry.shape)
        return TensorInfo(key, name, _format_dtype(entry.dtype), shape, is_state)

    def _read_slices(
        self, raw: bytes, entry: Message, dtype: DType, shape: tuple[int, ...]
    ) -> NDArray[Any]:
        whole: NDArray[Any] | None = None
        filled = 0
        for item in entry.slices:
            extents = parse_extents(item)
            place = to_slices(extents, shape)
            part = self._entries.get(encode_slice_key(raw, extents))
            if part is None:
                raise FormatError(f"its part {[tuple(extent) for extent in extents]} is missing")
            sizes = tuple(stretch.stop - stretch.start for stretch in place)
            values = self._read_whole(part, dtype, sizes)
            if whole is None:
                whole = np.zeros(shape, values.dtype)
            whole[place] = values
            filled += values.size
        if whole is None or filled != whole.size:
            raise FormatError(f"its parts hold {filled} numbers of {math.prod(shape)}")
        return whole

    def _read_whole(self, entry: Message, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
        if dtype == DType.STRING:
            return self._read_strings(entry, shape)
        stored = get_storage_dtype(dtype).newbyteorder(self._order)
        size = stored.itemsize * math.prod(shape)
        if entry.size != size:
            raise FormatError(f"shape {list(shape)} takes {size} bytes, but it has {entry.size}")
        with self._open_shard(entry) as file:
            array = read_array(file, entry.offset, stored, shape)
        _check_crc(masked_crc32c(array.reshape(-1).view(np.uint8).data), entry)
        return widen(dtype, array.astype(stored.newbyteorder("<"), copy=False))

    def _read_strings(self, entry: Message, shape: tuple[int, ...]) -> NDArray[Any]:
        if entry.size > self._max_bytes:
            raise FormatError(f"its texts take {entry.size} bytes, more than {self._max_bytes}")
        with self._open_shard(entry) as file:
            data = read_exactly(file, entry.offset, entry.size)
        texts, crc = decode_string_tensor(data, math.prod(shape))
        _check_crc(crc, entry)
        return texts.reshape(shape)

    @contextlib.contextmanager
    def _open_shard(self, entry: Message) -> Iterator[Any]:
        path = f"{self._prefix}.data-{entry.shard_id:05}-of-{self._shards:05}"
        if entry.offset < 0 or entry.size < 0:
            raise FormatError("its place in the file is negative")
        if self._files.find_size(path) is None:
            raise sstable.IncompleteTableError(f"{posixpath.basename(path)} is missing")
        with self._files.open(path) as file:
            if get_file_size(file) < entry.offset + entry.size:
                raise sstable.IncompleteTableError(f"{posixpath.basename(path)} ends too early")
            yield file


def _check_crc(crc: int, entry: Message) -> None:
    if crc != entry.crc32c:
        raise FormatError("its checksum is wrong")


def _format_dtype(number: int) -> str:
    try:
        dtype = DType(number - 100 if number > 100 else number)
    except ValueError:
        return f"dtype {number}"
    return get_dtype_name(dtype)
