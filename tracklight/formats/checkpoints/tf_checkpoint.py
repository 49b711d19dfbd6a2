"""TensorFlow checkpoints, which consist of ``P.index`` and ``P.data-00000-of-00001`` and so on.

The index is a table of `BundleEntryProto` messages by key, which say where the bytes of a tensor
are and what type and shape it has. The index is read as a whole; tensors are read one by one. Three
details are handled here:

* Names. TensorFlow 2 saves a graph of objects, and the key of a variable is the shortest path to
  it, which may lead through the optimizer. The saved object graph has the names of variables and
  says which of them belong to an optimizer.
* Slices. Partitioned variables are stored in parts, each with its own key.
* Strings, which have an encoding and checksums of their own.

The table is a sorted string table of LevelDB: a sequence of blocks, an index block with the
location of each block, and a footer of 48 bytes with the location of the index block. Blocks may be
compressed with Snappy. A key is stored as the length of the prefix that it shares with the previous
key, and the rest.

Formats: tensorflow/core/util/tensor_bundle/tensor_bundle.h,
https://github.com/google/leveldb/blob/main/doc/table_format.md and
https://github.com/google/snappy/blob/main/format_description.txt
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import posixpath
import re
import struct
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.formats import proto
from tracklight.formats.checkpoints.tensor_file import (
    MAX_ARRAY_BYTES,
    TensorInfo,
    get_file_size,
    read_array,
    read_exactly,
)
from tracklight.formats.proto import Message, read_varint
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

# ---- sorted string tables

FOOTER_BYTES = 48
#: The index of a hundred thousand tensors takes some megabytes.
MAX_TABLE_BYTES = 256 << 20

_MAGIC = 0xDB4775248B80FB57
#: Compression type and checksum.
_TRAILER_BYTES = 5
_UNCOMPRESSED, _SNAPPY = 0, 1

_SNAPPY_LITERAL = 0
#: Longer literals store their length after the tag.
_MAX_INLINE_LENGTH = 60


class IncompleteTableError(FormatError):
    """The table has no valid footer, most likely because it is being written."""


def parse_table(data: bytes) -> dict[bytes, bytes]:
    """Return the keys and values of a table after verifying the checksums.

    Raises:
        IncompleteTableError: The table has no valid footer.
        FormatError: The table is damaged or too large.
    """
    remaining = MAX_TABLE_BYTES
    entries: dict[bytes, bytes] = {}
    previous_end = 0
    for _, handle in _iter_entries(_read_block(data, *_parse_footer(data), MAX_TABLE_BYTES)):
        offset, position = read_varint(handle, 0, len(handle))
        size, _ = read_varint(handle, position, len(handle))
        if offset < previous_end:
            # A small file must not expand without bound.
            raise FormatError("files.table_overlap", "the blocks of the table overlap")
        previous_end = offset + size
        for key, value in _iter_entries(_read_block(data, offset, size, remaining)):
            entries[key] = value
            remaining -= len(key) + len(value)
            if remaining < 0:
                raise FormatError(
                    "files.table_too_large",
                    "the table is larger than {limit} bytes",
                    limit=MAX_TABLE_BYTES,
                )
    return entries


def _parse_footer(data: bytes) -> tuple[int, int]:
    """Return the offset and the size of the index block."""
    if len(data) < FOOTER_BYTES:
        raise IncompleteTableError(
            "files.table_too_small", "it has only {size} bytes", size=len(data)
        )
    if struct.unpack_from("<Q", data, len(data) - 8)[0] != _MAGIC:
        raise IncompleteTableError("files.table_no_footer", "the footer is missing")
    offset = len(data) - FOOTER_BYTES
    numbers = []
    for _ in range(4):
        number, offset = read_varint(data, offset, len(data) - 8)
        numbers.append(number)
    return numbers[2], numbers[3]


def _read_block(data: bytes, offset: int, size: int, max_bytes: int) -> bytes:
    end = offset + size
    if end + _TRAILER_BYTES > len(data):
        raise FormatError(
            "files.block_beyond_table",
            "the block of {size} bytes at {offset} ends beyond the table",
            size=size,
            offset=offset,
        )
    (crc,) = struct.unpack_from("<I", data, end + 1)
    if masked_crc32c(data[offset : end + 1]) != crc:
        raise FormatError(
            "files.block_checksum", "the checksum of the block at {offset} is wrong", offset=offset
        )
    compression, content = data[end], data[offset:end]
    if compression == _SNAPPY:
        return decompress_snappy(content, max_bytes)
    if compression != _UNCOMPRESSED:
        raise FormatError(
            "files.block_compression",
            "the block at {offset} has the unknown compression {compression}",
            offset=offset,
            compression=compression,
        )
    return content


def _iter_entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise FormatError("files.block_empty", "a block of the table is empty")
    (restarts,) = struct.unpack_from("<I", block, len(block) - 4)
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise FormatError(
            "files.block_restarts",
            "a block of {size} bytes claims to have {restarts} restarts",
            size=len(block),
            restarts=restarts,
        )
    key, offset = b"", 0
    while offset < end:
        shared, offset = read_varint(block, offset, end)
        unshared, offset = read_varint(block, offset, end)
        length, offset = read_varint(block, offset, end)
        if shared > len(key) or offset + unshared + length > end:
            raise FormatError("files.block_entry", "an entry does not fit its block")
        key = key[:shared] + block[offset : offset + unshared]
        offset += unshared
        yield key, block[offset : offset + length]
        offset += length


def decompress_snappy(data: bytes, max_bytes: int) -> bytes:
    """Decompress data in the raw Snappy format.

    Raises:
        FormatError: The data is damaged, or larger than ``max_bytes`` when decompressed.
    """
    size, offset = read_varint(data, 0, len(data))
    if size > max_bytes:
        raise FormatError(
            "files.block_too_large",
            "a compressed block has {size} bytes, more than {limit}",
            size=size,
            limit=max_bytes,
        )
    out = bytearray()
    while offset < len(data):
        if data[offset] & 3 == _SNAPPY_LITERAL:
            start, end = _parse_literal(data, offset)
            out += data[start:end]
            offset = end
        else:
            length, distance, offset = _parse_copy(data, offset)
            _append_copy(out, length, distance)
        if len(out) > size:
            break
    if len(out) != size:
        raise FormatError(
            "files.block_size",
            "a compressed block has {actual} bytes instead of {size}",
            actual=len(out),
            size=size,
        )
    return bytes(out)


def _parse_literal(data: bytes, offset: int) -> tuple[int, int]:
    """Return the start and the end of the bytes of a literal."""
    length = data[offset] >> 2
    start = offset + 1
    if length >= _MAX_INLINE_LENGTH:
        length_bytes = length - _MAX_INLINE_LENGTH + 1
        length = int.from_bytes(data[start : start + length_bytes], "little")
        start += length_bytes
    end = start + length + 1
    if end > len(data):
        raise FormatError("files.block_truncated", "a compressed block is truncated")
    return start, end


def _parse_copy(data: bytes, offset: int) -> tuple[int, int, int]:
    """Return the length of a copy, its distance, and the offset of the next element."""
    tag = data[offset]
    if tag & 3 == 1:
        length, size, high_bits = (tag >> 2 & 7) + 4, 1, tag >> 5 << 8
    else:
        length, size, high_bits = (tag >> 2) + 1, 2 if tag & 3 == 2 else 4, 0
    end = offset + 1 + size
    if end > len(data):
        raise FormatError("files.block_truncated", "a compressed block is truncated")
    return length, high_bits | int.from_bytes(data[offset + 1 : end], "little"), end


def _append_copy(out: bytearray, length: int, distance: int) -> None:
    if not 0 < distance <= len(out):
        raise FormatError(
            "files.block_copy",
            "a compressed block copies from {distance} bytes before its start",
            distance=distance,
        )
    # The copy may overlap its own output.
    source = out[-distance:]
    out += (source * (length // distance + 1))[:length]


# ---- checkpoints

OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
#: Only the keys of slices begin with this.
SLICE_KEY_PREFIX = b"\x00"

#: ``BundleHeaderProto.endianness``
_BIG_ENDIAN = 1
_CRC_BYTES = 4
_MAX_UINT32 = (1 << 32) - 1

_VARIABLE_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
_SLOT_MARKER = "/.OPTIMIZER_SLOT/"
#: The names of variables to which the program gave no name.
_UNNAMED = re.compile(r"(.*/)?Variable(_\d+)?")
#: TensorFlow 1 appends these to the name of a variable for the state of an optimizer.
_V1_STATE = re.compile(
    r"(.+)/(Adam(ax|W|_\d+)?(_\d+)?|Ada(grad|delta|gradDA)(_\d+)?|Momentum(_\d+)?|RMSProp(_\d+)?"
    r"|Ftrl(_\d+)?|ExponentialMovingAverage|LARS\w*|LAMB\w*)"
)
#: An object with a list of variables and one of these children is an optimizer.
_OPTIMIZER_CHILDREN = {b"_learning_rate", b"learning_rate", b"_iterations", b"iterations"}

#: Stands for the length of a slice that covers a whole dimension.
_FULL_LENGTH = -1
_ESCAPED_BYTES = {b"\x00": b"\x00\xff", b"\xff": b"\xff\x00"}


class FileAccess(Protocol):
    """Opens files by path, such as `tracklight.logdir.access.ConfinedFiles`."""

    def open(self, path: str) -> BinaryIO: ...

    def find_size(self, path: str) -> int | None: ...


class TensorFlowCheckpoint:
    """A checkpoint; implements `TensorFile`.

    Args:
        files: Opens the files of the checkpoint.
        prefix: The path of the files without ``.index``.
        max_bytes: Larger tensors are rejected.

    Raises:
        FormatError: The index is missing, incomplete or damaged.
    """

    def __init__(self, files: FileAccess, prefix: str, *, max_bytes: int = MAX_ARRAY_BYTES) -> None:
        self._files = files
        self._prefix = prefix
        self._max_bytes = max_bytes
        with self._add_context_to_errors():
            entries = parse_table(self._read_index())
            header = proto.parse("BundleHeaderProto", entries.pop(b"", b""))
            self._entries = {
                key: proto.parse("BundleEntryProto", value) for key, value in entries.items()
            }
        self._shard_count = header.num_shards
        self._byte_order: Literal["<", ">"] = ">" if header.endianness == _BIG_ENDIAN else "<"
        self._keys = {decode_key(key): key for key in self._entries if key[:1] != SLICE_KEY_PREFIX}

    def list_tensors(self) -> Sequence[TensorInfo]:
        graph = self._read_object_graph()
        names = make_variable_names(self._keys, graph)
        return [
            self._describe(key, names[key], is_optimizer_state(key, self._keys, graph))
            for key in self._keys
            if key != OBJECT_GRAPH_KEY
        ]

    def read(self, key: str) -> NDArray[Any]:
        raw_key = self._keys.get(key)
        if raw_key is None:
            raise UsageError(
                "files.checkpoint_no_tensor",
                'no tensor "{key}" in the checkpoint "{name}"',
                key=key,
                name=self._name,
            )
        with self._add_context_to_errors(key):
            entry = self._entries[raw_key]
            dtype, shape = get_dtype(entry.dtype), get_shape(entry.shape)
            check_size(dtype, shape, self._max_bytes)
            if entry.slices:
                return self._read_slices(raw_key, entry, dtype, shape)
            return self._read_entry(entry, dtype, shape)

    @property
    def _name(self) -> str:
        return posixpath.basename(self._prefix.replace("\\", "/"))

    @contextlib.contextmanager
    def _add_context_to_errors(self, key: str = "") -> Iterator[None]:
        subject = f'the tensor "{key}" of the checkpoint' if key else "the checkpoint"
        try:
            yield
        except IncompleteTableError as error:
            raise FormatError(
                "files.checkpoint_incomplete",
                '{subject} "{name}" is incomplete: {error}. If it is still being '
                "written, try again later",
                subject=subject,
                name=self._name,
                error=error,
            ) from None
        except FormatError as error:
            raise FormatError(
                "files.checkpoint_unreadable",
                '{subject} "{name}" cannot be read: {error}',
                subject=subject,
                name=self._name,
                error=error,
            ) from None

    def _read_index(self) -> bytes:
        path = f"{self._prefix}.index"
        size = self._files.find_size(path)
        if size is None:
            raise IncompleteTableError("files.index_missing", "the index is missing")
        if size > MAX_TABLE_BYTES:
            raise FormatError(
                "files.index_too_large",
                "the index has {size} bytes, more than {limit}",
                size=size,
                limit=MAX_TABLE_BYTES,
            )
        with self._files.open(path) as file:
            return file.read(size)

    def _read_object_graph(self) -> ObjectGraph:
        if OBJECT_GRAPH_KEY not in self._keys:
            return ObjectGraph()
        try:
            return parse_object_graph(bytes(self.read(OBJECT_GRAPH_KEY).item()))
        except (FormatError, ValueError, TypeError):
            # Tensors can be read without the names in the graph.
            return ObjectGraph()

    def _describe(self, key: str, name: str, is_optimizer_state: bool) -> TensorInfo:
        entry = self._entries[self._keys[key]]
        with self._add_context_to_errors(key):
            shape = get_shape(entry.shape)
        return TensorInfo(key, name, _format_dtype(entry.dtype), shape, is_optimizer_state)

    def _read_slices(
        self, raw_key: bytes, entry: Message, dtype: DType, shape: tuple[int, ...]
    ) -> NDArray[Any]:
        whole: NDArray[Any] | None = None
        filled = 0
        for slice_proto in entry.slices:
            extents = parse_extents(slice_proto)
            slices = to_slices(extents, shape)
            part = self._entries.get(encode_slice_key(raw_key, extents))
            if part is None:
                raise FormatError(
                    "files.slice_missing",
                    "the slice {slice} is missing",
                    slice=[tuple(extent) for extent in extents],
                )
            sizes = tuple(item.stop - item.start for item in slices)
            values = self._read_entry(part, dtype, sizes)
            if whole is None:
                whole = np.zeros(shape, values.dtype)
            whole[slices] = values
            filled += values.size
        if whole is None or filled != whole.size:
            raise FormatError(
                "files.slices_incomplete",
                "the slices contain {filled} of {expected} numbers",
                filled=filled,
                expected=math.prod(shape),
            )
        return whole

    def _read_entry(self, entry: Message, dtype: DType, shape: tuple[int, ...]) -> NDArray[Any]:
        if dtype == DType.STRING:
            return self._read_strings(entry, shape)
        stored = get_storage_dtype(dtype).newbyteorder(self._byte_order)
        size = stored.itemsize * math.prod(shape)
        if entry.size != size:
            raise FormatError(
                "files.shape_size",
                "shape {shape} takes {size} bytes, but it has {actual}",
                shape=list(shape),
                size=size,
                actual=entry.size,
            )
        with self._open_shard(entry) as file:
            array = read_array(file, entry.offset, stored, shape)
        _check_crc(masked_crc32c(array.reshape(-1).view(np.uint8).data), entry)
        return widen(dtype, array.astype(stored.newbyteorder("<"), copy=False))

    def _read_strings(self, entry: Message, shape: tuple[int, ...]) -> NDArray[Any]:
        if entry.size > self._max_bytes:
            raise FormatError(
                "files.strings_too_large",
                "its strings take {size} bytes, more than {limit}",
                size=entry.size,
                limit=self._max_bytes,
            )
        with self._open_shard(entry) as file:
            data = read_exactly(file, entry.offset, entry.size)
        strings, crc = decode_string_tensor(data, math.prod(shape))
        _check_crc(crc, entry)
        return strings.reshape(shape)

    @contextlib.contextmanager
    def _open_shard(self, entry: Message) -> Iterator[Any]:
        path = f"{self._prefix}.data-{entry.shard_id:05}-of-{self._shard_count:05}"
        if entry.offset < 0 or entry.size < 0:
            raise FormatError("files.negative_offset", "its offset or size is negative")
        if self._files.find_size(path) is None:
            raise IncompleteTableError(
                "files.part_missing", "{name} is missing", name=posixpath.basename(path)
            )
        with self._files.open(path) as file:
            if get_file_size(file) < entry.offset + entry.size:
                raise IncompleteTableError(
                    "files.part_truncated", "{name} is truncated", name=posixpath.basename(path)
                )
            yield file


def _check_crc(crc: int, entry: Message) -> None:
    if crc != entry.crc32c:
        raise FormatError("files.checksum", "its checksum is wrong")


def _format_dtype(code: int) -> str:
    try:
        dtype = DType(code - 100 if code > 100 else code)
    except ValueError:
        return f"dtype {code}"
    return get_dtype_name(dtype)


@dataclass
class ObjectGraph:
    """What the saved object graph says about keys; empty for checkpoints of TensorFlow 1."""

    full_names: dict[str, str] = dataclasses.field(default_factory=dict)
    optimizer_keys: set[str] = dataclasses.field(default_factory=set)


def parse_object_graph(data: bytes) -> ObjectGraph:
    """Parse a TrackableObjectGraph; raises FormatError if the bytes are not one."""
    nodes = proto.parse("TrackableObjectGraph", data).nodes
    graph = ObjectGraph()
    optimizer_nodes = set(_iter_optimizer_nodes(nodes))
    for node_id, node in enumerate(nodes):
        for attribute in node.attributes:
            key = decode_key(attribute.checkpoint_key)
            graph.full_names[key] = decode_key(attribute.full_name)
            if node_id in optimizer_nodes:
                graph.optimizer_keys.add(key)
    return graph


def _iter_optimizer_nodes(nodes: Iterable[Message]) -> Iterator[int]:
    """Yield the ids of the variables that only an optimizer uses."""
    nodes = list(nodes)
    for node in nodes:
        yield from (slot.slot_variable_node_id for slot in node.slot_variables)
        children = {child.local_name: child.node_id for child in node.children}
        if b"_variables" in children and _OPTIMIZER_CHILDREN & children.keys():
            trained = _list_children(nodes, children.get(b"_trainable_variables", -1))
            yield from set(_list_children(nodes, children[b"_variables"])) - set(trained)


def _list_children(nodes: list[Message], node_id: int) -> list[int]:
    if not 0 <= node_id < len(nodes):
        return []
    return [child.node_id for child in nodes[node_id].children]


def make_variable_names(keys: Collection[str], graph: ObjectGraph) -> dict[str, str]:
    """Return a unique name to show for each key."""
    full_names = {key: graph.full_names.get(key, "") for key in keys}
    counts = Counter(full_names.values())
    return {
        key: full if full and counts[full] == 1 and not _UNNAMED.fullmatch(full) else _shorten(key)
        for key, full in full_names.items()
    }


def _shorten(key: str) -> str:
    if not key.endswith(_VARIABLE_SUFFIX):
        return key
    # TensorFlow escapes "/" as ".S" and "." as "..".
    return key.removesuffix(_VARIABLE_SUFFIX).replace(".S", "/").replace("..", ".")


def is_optimizer_state(key: str, keys: Collection[str], graph: ObjectGraph) -> bool:
    """Return whether only an optimizer uses the variable."""
    if key in graph.optimizer_keys or _SLOT_MARKER in key:
        return True
    owner = _V1_STATE.fullmatch(key)
    return owner is not None and owner[1] in keys


def decode_key(key: bytes) -> str:
    return key.decode("utf-8", "replace")


class SliceExtent(NamedTuple):
    """The part of one dimension that a slice covers."""

    start: int
    length: int


def encode_slice_key(name: bytes, extents: Sequence[SliceExtent]) -> bytes:
    """Return the key of a slice of a tensor.

    It consists of a prefix, the name, the rank and the extents, in an encoding that sorts like
    the values (``OrderedCode`` in TensorFlow).
    """
    escaped = re.sub(rb"[\x00\xff]", lambda byte: _ESCAPED_BYTES[byte[0]], name)
    rank = len(extents)
    size = (rank.bit_length() + 7) // 8
    head = SLICE_KEY_PREFIX + escaped + b"\x00\x01" + bytes([size]) + rank.to_bytes(size, "big")
    return head + b"".join(_encode_signed(number) for extent in extents for number in extent)


def _encode_signed(number: int) -> bytes:
    """Encode a number; leading ones give the number of bytes, negative numbers are inverted."""
    size = 1
    magnitude = ~number if number < 0 else number
    while magnitude >> (7 * size - 1):
        size += 1
    if size > 8:
        raise FormatError("files.slice_bounds", "a slice begins or ends at {number}", number=number)
    code = magnitude | ((1 << size) - 1) << (7 * size)
    if number < 0:
        code ^= (1 << 8 * size) - 1
    return code.to_bytes(size, "big")


def parse_extents(slice_proto: Message) -> list[SliceExtent]:
    """Return the extents of a TensorSliceProto, as they are encoded in its key."""
    return [
        SliceExtent(extent.start, extent.length if extent.HasField("has_length") else _FULL_LENGTH)
        for extent in slice_proto.extent
    ]


def to_slices(extents: Sequence[SliceExtent], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the index of a slice in the whole tensor.

    Raises:
        FormatError: The slice is outside of the tensor.
    """
    if len(extents) != len(shape):
        raise FormatError(
            "files.slice_dimensions",
            "a slice has {actual} dimensions, but its tensor has {dimensions}",
            actual=len(extents),
            dimensions=len(shape),
        )
    slices = []
    for (start, length), size in zip(extents, shape, strict=True):
        end = size if length == _FULL_LENGTH else start + length
        if not 0 <= start <= end <= size:
            raise FormatError(
                "files.slice_range",
                "a slice covers {start} to {end} of a dimension of size {size}",
                start=start,
                end=end,
                size=size,
            )
        slices.append(slice(start, end))
    return tuple(slices)


def decode_string_tensor(data: bytes, count: int) -> tuple[NDArray[Any], int]:
    """Decode strings: the length of each, the checksum of the lengths, and all bytes.

    Checksums cover the lengths as fixed-width integers, not as the varints that are stored.

    Returns:
        An object array of ``count`` bytes objects, and the checksum that the entry must have.

    Raises:
        FormatError: The data is damaged.
    """
    lengths, offset = _read_lengths(data, count)
    packed = b"".join(
        struct.pack("<I" if length <= _MAX_UINT32 else "<Q", length) for length in lengths
    )
    stored_crc = data[offset : offset + _CRC_BYTES]
    if stored_crc != struct.pack("<I", masked_crc32c(packed)):
        raise FormatError(
            "files.string_lengths_checksum", "the checksum of the string lengths is wrong"
        )
    offset += _CRC_BYTES
    if offset + sum(lengths) != len(data):
        raise FormatError(
            "files.string_lengths", "the lengths of its {count} strings do not add up", count=count
        )
    strings = np.empty(count, object)
    ends = itertools.accumulate(lengths, initial=offset)
    strings[:] = [data[start:end] for start, end in itertools.pairwise(ends)]
    return strings, masked_crc32c(packed + data[offset - _CRC_BYTES :])


def _read_lengths(data: bytes, count: int) -> tuple[list[int], int]:
    if count > len(data):
        raise FormatError(
            "files.strings_size",
            "{count} strings do not fit in {size} bytes",
            count=count,
            size=len(data),
        )
    offset = 0
    lengths = []
    for _ in range(count):
        length, offset = read_varint(data, offset, len(data))
        lengths.append(length)
    return lengths, offset
