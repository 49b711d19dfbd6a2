"""TensorFlow's checkpoints, the kind of two files and more: ``P.index`` and ``P.data-…-of-…``.

The index is a table of entries, each of which says where the bytes of a tensor stand and what
they are. The whole of it is read at once; tensors are read one by one.
"""

from __future__ import annotations

import contextlib
import math
import posixpath
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, UsageError
from tracklight.formats import proto
from tracklight.formats.crc32c import masked_crc32c
from tracklight.formats.proto import Message
from tracklight.formats.tensor import (
    DType,
    check_size,
    get_dtype,
    get_shape,
    get_stored_type,
    get_type_name,
    widen,
)
from tracklight.tensorfiles import objects, slices, table
from tracklight.tensorfiles.model import MAX_BYTES, TensorInfo
from tracklight.tensorfiles.place import Place, measure, read_array, read_bytes
from tracklight.tensorfiles.strings import decode_strings

_BIG_ENDIAN = 1


class Checkpoint:
    """A checkpoint by its prefix: the path of its files without ``.index``."""

    def __init__(self, place: Place, prefix: str, *, max_bytes: int = MAX_BYTES) -> None:
        self._place = place
        self._prefix = prefix
        self._max_bytes = max_bytes
        with self._explained():
            entries = table.read_table(self._read_index())
            header = proto.parse("BundleHeaderProto", entries.pop(b"", b""))
            self._entries = {
                key: proto.parse("BundleEntryProto", value) for key, value in entries.items()
            }
        self._shards = header.num_shards
        self._order: Literal["<", ">"] = ">" if header.endianness == _BIG_ENDIAN else "<"
        self._keys = {
            objects.decode_text(key): key for key in self._entries if key[:1] != slices.PREFIX
        }

    def tensors(self) -> Sequence[TensorInfo]:
        known = self._read_objects()
        names = objects.name_all(self._keys, known)
        return [
            self._describe(key, names[key], objects.is_state(key, self._keys, known))
            for key in self._keys
            if key != objects.GRAPH_KEY
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
        except table.Incomplete as error:
            raise FormatError(
                f'{what} "{self._name}" is not whole: {error}. It may still be being written; '
                "look again in a while"
            ) from None
        except FormatError as error:
            raise FormatError(f'{what} "{self._name}" cannot be read: {error}') from None

    def _read_index(self) -> bytes:
        path = f"{self._prefix}.index"
        size = self._place.find_size(path)
        if size is None:
            raise table.Incomplete("it has no index")
        if size > table.MAX_BYTES:
            raise FormatError(f"its index has {size} bytes, more than {table.MAX_BYTES}")
        with self._place.open(path) as file:
            return file.read(size)

    def _read_objects(self) -> objects.Objects:
        if objects.GRAPH_KEY not in self._keys:
            return objects.Objects()
        try:
            return objects.parse_objects(bytes(self.read(objects.GRAPH_KEY).item()))
        except (FormatError, ValueError, TypeError):
            # Names are a comfort: tensors can be read without them.
            return objects.Objects()

    def _describe(self, key: str, name: str, is_state: bool) -> TensorInfo:
        entry = self._entries[self._keys[key]]
        with self._explained(key):
            shape = get_shape(entry.shape)
        return TensorInfo(key, name, _name_dtype(entry.dtype), shape, is_state)

    def _read_slices(
        self, raw: bytes, entry: Message, dtype: DType, shape: tuple[int, ...]
    ) -> NDArray[Any]:
        whole: NDArray[Any] | None = None
        filled = 0
        for item in entry.slices:
            extents = slices.read_extents(item)
            place = slices.find_place(extents, shape)
            part = self._entries.get(slices.encode_key(raw, extents))
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
        stored = get_stored_type(dtype).newbyteorder(self._order)
        size = stored.itemsize * math.prod(shape)
        if entry.size != size:
            raise FormatError(f"shape {list(shape)} takes {size} bytes, but it has {entry.size}")
        with self._open_shard(entry) as file:
            array = read_array(file, entry.offset, stored, shape)
        _check(masked_crc32c(array.reshape(-1).view(np.uint8).data), entry)
        return widen(dtype, array.astype(stored.newbyteorder("<"), copy=False))

    def _read_strings(self, entry: Message, shape: tuple[int, ...]) -> NDArray[Any]:
        if entry.size > self._max_bytes:
            raise FormatError(f"its texts take {entry.size} bytes, more than {self._max_bytes}")
        with self._open_shard(entry) as file:
            data = read_bytes(file, entry.offset, entry.size)
        texts, crc = decode_strings(data, math.prod(shape))
        _check(crc, entry)
        return texts.reshape(shape)

    @contextlib.contextmanager
    def _open_shard(self, entry: Message) -> Iterator[Any]:
        path = f"{self._prefix}.data-{entry.shard_id:05}-of-{self._shards:05}"
        if entry.offset < 0 or entry.size < 0:
            raise FormatError("its place in the file is negative")
        if self._place.find_size(path) is None:
            raise table.Incomplete(f"{posixpath.basename(path)} is missing")
        with self._place.open(path) as file:
            if measure(file) < entry.offset + entry.size:
                raise table.Incomplete(f"{posixpath.basename(path)} ends too early")
            yield file


def _check(crc: int, entry: Message) -> None:
    if crc != entry.crc32c:
        raise FormatError("its checksum is wrong")


def _name_dtype(number: int) -> str:
    try:
        dtype = DType(number - 100 if number > 100 else number)
    except ValueError:
        return f"dtype {number}"
    return get_type_name(dtype)
