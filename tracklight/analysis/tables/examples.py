"""Decode blocks of ``tf.Example`` and ``tf.SequenceExample`` messages to columns, and encode rows.

Decoding works on all records of a block at once: each level of the messages is one call of
`scan_messages`, which returns the positions of the fields as arrays: faster than one message
object per record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import (
    DataColumn,
    gather_ranges,
    make_coded_bytes_column,
    make_list_column,
    make_number_column,
    make_offsets,
)
from tracklight.errors import FormatError, get_message
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.types import Bool, Int64

#: Field numbers in the message Feature.
_BYTES_LIST, _FLOAT_LIST, _INT64_LIST = 1, 2, 3
_ANY_LIST = 1 << _BYTES_LIST | 1 << _FLOAT_LIST | 1 << _INT64_LIST
#: Field numbers of a map entry.
_KEY, _VALUE = 1, 2

_MAX_KEYS = 10_000
#: Slices that are longer on average are copied one by one, shorter ones all at once by index.
_LONG_SLICE_BYTES = 100
#: Memory of a distinct value besides its bytes: the object and its place in a dictionary.
_BYTES_OVERHEAD = 130


class ExampleDecoder:
    """Collect the features of records, block by block, and return them as a table.

    Features that have different kinds of values in different records are left out with a message.
    """

    def __init__(self) -> None:
        self.row_count = 0
        self._features: dict[str, _FeatureBuilder] = {}

    @property
    def size_bytes(self) -> int:
        """Approximate memory use."""
        return sum(feature.size_bytes for feature in self._features.values())

    def add(self, data: bytes, spans: Int64) -> None:
        """Add records.

        Args:
            data: A block of bytes.
            spans: The offset and the size of each message.

        Raises:
            FormatError: A record is not an example.
        """
        try:
            parts = _scan(data, spans, 1 << 1 | 1 << 2)
            features = parts[parts[:, 1] == 1]
            for name, chunk in _decode_features(data, features, self.row_count):
                self._add_chunk(name, chunk)
            lists = parts[parts[:, 1] == 2]
            for name, chunk in _decode_feature_lists(data, lists, self.row_count):
                self._add_chunk(name, chunk)
        except FormatError:
            raise FormatError(
                "data.not_an_example",
                "the file has a record that is neither a tf.Example nor a tf.SequenceExample",
            ) from None
        self.row_count += len(spans)

    def finish(self) -> DataTable:
        """Return the table, with the columns in alphabetical order."""
        columns, problems = [], []
        for name in sorted(self._features):
            try:
                columns.append(self._features.pop(name).finish(self.row_count))
            except FormatError as error:
                problems.append(get_message(error))
        return DataTable(columns, row_count=self.row_count, problems=problems)

    def _add_chunk(self, name: str, chunk: _Chunk) -> None:
        feature = self._features.get(name)
        if feature is None:
            feature = self._features[name] = _FeatureBuilder(name)
            if len(self._features) > _MAX_KEYS:
                raise FormatError(
                    "data.too_many_features",
                    "the file has more than {limit:,} different features",
                    limit=_MAX_KEYS,
                )
        feature.add(chunk)


@dataclass(frozen=True, eq=False)
class _Chunk:
    """The values of one feature in one block: the items of each of some rows."""

    kind: int
    rows: Int64
    """Rows of the table that have this feature, in ascending order."""
    lengths: Int64
    """The number of items in each of these rows; for sequences, the number of steps."""
    items: Any
    """A list of bytes, or an array of numbers."""
    step_lengths: Int64 | None = None


class _GrowingArray:
    """An array to which parts are appended in place, without twice the memory to join them."""

    def __init__(self, dtype: Any) -> None:
        self._array = np.empty(0, dtype)
        self._size = 0

    @property
    def size_bytes(self) -> int:
        return self._array.nbytes

    def append(self, part: NDArray[Any]) -> None:
        if not np.can_cast(part.dtype, self._array.dtype):
            wider = np.promote_types(part.dtype, self._array.dtype)
            self._array = self._array.astype(wider)
        end = self._size + len(part)
        if end > len(self._array):
            self._array.resize(max(end, len(self._array) * 9 // 8), refcheck=False)
        self._array[self._size : end] = part
        self._size = end

    def finish(self) -> NDArray[Any]:
        self._array.resize(self._size, refcheck=False)
        return self._array


class _FeatureBuilder:
    """Collects the values of one feature. Repeated strings and images are kept once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._kinds: set[int] = set()
        self._rows = _GrowingArray(np.int32)
        self._lengths = _GrowingArray(np.int32)
        self._items: _GrowingArray | None = None
        self._step_lengths = _GrowingArray(np.int32)
        self._is_sequence: set[bool] = set()
        self._codes: dict[bytes, int] = {}
        self._bytes_size = 0

    @property
    def size_bytes(self) -> int:
        arrays = (self._rows, self._lengths, self._items, self._step_lengths)
        size = sum(array.size_bytes for array in arrays if array is not None)
        return size + self._bytes_size

    def add(self, chunk: _Chunk) -> None:
        self._kinds.add(chunk.kind)
        self._is_sequence.add(chunk.step_lengths is not None)
        if len(self._is_sequence) > 1 or (_BYTES_LIST in self._kinds and len(self._kinds) > 1):
            return  # left out
        items = self._encode(chunk.items) if chunk.kind == _BYTES_LIST else chunk.items
        if self._items is None:
            self._items = _GrowingArray(items.dtype)
        self._items.append(items)
        self._rows.append(chunk.rows.astype(np.int32))
        self._lengths.append(chunk.lengths.astype(np.int32))
        if chunk.step_lengths is not None:
            self._step_lengths.append(chunk.step_lengths.astype(np.int32))

    def _encode(self, items: Sequence[bytes]) -> NDArray[np.int32]:
        codes, known = self._codes, len(self._codes)
        encoded = np.fromiter(
            (codes.setdefault(item, len(codes)) for item in items), np.int32, len(items)
        )
        added = islice(reversed(codes), len(codes) - known)
        self._bytes_size += sum(_BYTES_OVERHEAD + len(item) for item in added)
        return encoded

    def finish(self, row_count: int) -> DataColumn:
        """Return the column.

        Raises:
            FormatError: The feature has values that do not fit together.
        """
        if len(self._is_sequence) > 1:
            raise FormatError(
                "data.feature_and_sequence",
                '"{feature}" is both a feature and a sequence feature; it is left out',
                feature=self._name,
            )
        if _BYTES_LIST in self._kinds and len(self._kinds) > 1:
            raise FormatError(
                "data.text_and_numbers",
                '"{feature}" has text in some records and numbers in others; it is left out',
                feature=self._name,
            )
        assert self._items is not None
        values = self._items.finish()
        rows, lengths = self._rows.finish(), self._lengths.finish()
        items = self._make_items(values, bool((lengths <= 1).all()))
        if (np.diff(rows) <= 0).any():  # a block with integers in some records, floats in others
            items, rows, lengths = _sort_rows(items, rows, lengths)
        all_lengths = np.zeros(row_count, np.int64)
        all_lengths[rows] = lengths
        missing: Bool = np.ones(row_count, np.bool_)
        missing[rows] = False
        if True not in self._is_sequence:
            missing |= all_lengths == 0
            return make_list_column(self._name, items, all_lengths, missing)
        steps = self._step_lengths.finish()
        return replace(
            items,
            offsets=make_offsets(all_lengths),
            step_offsets=make_offsets(steps),
            missing=missing if missing.any() else None,
        )

    def _make_items(self, values: NDArray[Any], is_single: bool) -> DataColumn:
        if _BYTES_LIST in self._kinds:
            return make_coded_bytes_column(self._name, values, list(self._codes))
        if values.dtype == np.float32 and not is_single:
            return DataColumn(self._name, "float", values)
        return make_number_column(self._name, values)


def _decode_features(data: bytes, features: Int64, first_row: int) -> Iterable[tuple[str, _Chunk]]:
    """Yield the features of ``Features`` messages, given as (record, field, offset, size)."""
    entries = _scan(data, features[:, 2:], 1 << 1)
    records = features[entries[:, 0], 0]
    for name, rows, values in _group_entries(data, entries, records):
        lists = _locate_lists(data, values)
        has_list = lists[:, 0] >= 0
        for kind in np.unique(lists[has_list, 0]).tolist():
            chosen = lists[:, 0] == kind
            lengths, items = _decode_items(data, kind, lists[chosen, 1:])
            yield name, _Chunk(kind, rows[chosen] + first_row, lengths, items)


def _decode_feature_lists(
    data: bytes, parts: Int64, first_row: int
) -> Iterable[tuple[str, _Chunk]]:
    """Yield the sequence features of ``FeatureLists`` messages."""
    entries = _scan(data, parts[:, 2:], 1 << 1)
    records = parts[entries[:, 0], 0]
    for name, rows, values in _group_entries(data, entries, records):
        steps = _scan(data, values, 1 << 1)
        step_counts = np.bincount(steps[:, 0], minlength=len(values))
        lists = _locate_lists(data, steps[:, 2:])
        kinds = np.unique(lists[lists[:, 0] >= 0, 0]).tolist()
        if len(kinds) > 1:
            raise FormatError(
                "data.sequence_kinds",
                'the sequence feature "{feature}" has values of different kinds',
                feature=name,
            )
        kind = kinds[0] if kinds else _FLOAT_LIST
        # A step without values is an empty message, which has no list.
        lists[lists[:, 0] < 0, 1:] = 0
        lengths, items = _decode_items(data, kind, lists[:, 1:])
        yield name, _Chunk(kind, rows + first_row, step_counts, items, lengths)


def _scan(data: bytes, spans: Int64, wanted: int) -> Int64:
    return proto.scan_messages(data, np.ascontiguousarray(spans), wanted)


def _group_entries(
    data: bytes, entries: Int64, records: Int64
) -> Iterable[tuple[str, Int64, Int64]]:
    """Yield each key with its records and the spans of its values."""
    if not len(entries):
        return
    fields = _scan(data, entries[:, 2:], 1 << _KEY | 1 << _VALUE)
    keys = np.zeros((len(entries), 2), np.int64)
    values = np.zeros((len(entries), 2), np.int64)
    is_key = fields[:, 1] == _KEY
    keys[fields[is_key, 0]] = fields[is_key, 2:]
    values[fields[~is_key, 0]] = fields[~is_key, 2:]
    ids, names = intern_slices(data, keys)
    order = np.argsort(ids, kind="stable")
    bounds = np.searchsorted(ids[order], np.arange(len(names) + 1))
    for number, name in enumerate(names):
        chosen = order[bounds[number] : bounds[number + 1]]
        rows = records[chosen]
        # In a map, the last of several entries with the same key counts.
        is_last = np.append(rows[1:] != rows[:-1], True)
        yield proto.decode_text(name), rows[is_last], values[chosen[is_last]]


def _locate_lists(data: bytes, spans: Int64) -> Int64:
    """Return kind, offset and size of the list in each ``Feature``; kind is -1 without one."""
    lists = np.full((len(spans), 3), -1, np.int64)
    found = _scan(data, spans, _ANY_LIST)
    lists[found[:, 0]] = found[:, 1:]
    return lists


def _decode_items(data: bytes, kind: int, spans: Int64) -> tuple[Int64, Any]:
    """Return the number of items of each list, and all items."""
    packed = _scan(data, spans, 1 << 1)
    if kind == _BYTES_LIST:
        lengths = np.bincount(packed[:, 0], minlength=len(spans))
        starts, sizes = packed[:, 2].tolist(), packed[:, 3].tolist()
        items = [data[start : start + size] for start, size in zip(starts, sizes, strict=True)]
        return lengths, items
    is_plain = len(packed) == len(spans) and (packed[:, 0] == np.arange(len(spans))).all()
    if is_plain:
        header = packed[:, 2] - spans[:, 0]
        is_plain = bool((header + packed[:, 3] == spans[:, 1]).all())
    if not is_plain:
        return _decode_unpacked(data, kind, spans)
    content, sizes = _gather_slices(data, packed[:, 2], packed[:, 3]), packed[:, 3]
    if kind == _FLOAT_LIST:
        if (sizes % 4).any():
            raise FormatError("data.float_incomplete", "a list of floats has an incomplete value")
        return sizes // 4, content.view("<f4").astype(np.float32, copy=False)
    return decode_varints(content, sizes)


def _decode_unpacked(data: bytes, kind: int, spans: Int64) -> tuple[Int64, Any]:
    """Decode lists of numbers that are empty, or whose items are separate fields."""
    name = "FloatList" if kind == _FLOAT_LIST else "Int64List"
    dtype = np.float32 if kind == _FLOAT_LIST else np.int64
    rows = [
        np.array(proto.parse(name, data[start : start + size]).value, dtype)
        for start, size in spans.tolist()
    ]
    lengths = np.array([len(row) for row in rows], np.int64)
    return lengths, np.concatenate(rows) if rows else np.empty(0, dtype)


def decode_varints(content: NDArray[np.uint8], sizes: Int64) -> tuple[Int64, Int64]:
    """Decode packed int64 values.

    Args:
        content: The bytes of all lists.
        sizes: The number of bytes of each list.

    Returns:
        The number of values of each list, and all values.
    """
    is_end = content < 0x80
    ends = np.cumsum(sizes)
    if len(content) and not is_end[ends[sizes > 0] - 1].all():
        raise FormatError("data.integer_incomplete", "a list of integers has an incomplete value")
    counts = np.concatenate(([0], np.cumsum(is_end, dtype=np.int64)))
    lengths = counts[ends] - counts[ends - sizes]
    if is_end.all():  # all values are below 128
        return lengths, content.astype(np.int64)
    starts = np.concatenate(([0], np.flatnonzero(is_end)[:-1] + 1))
    width = np.diff(np.append(starts, len(content)))
    if width.max(initial=0) > 10:
        raise FormatError(
            "data.integer_too_long", "a list of integers has a value of more than ten bytes"
        )
    position = np.arange(len(content)) - np.repeat(starts, width)
    bits = (content & 0x7F).astype(np.uint64) << (7 * position).astype(np.uint64)
    values = np.add.reduceat(bits, starts) if len(starts) else bits
    return lengths, values.view(np.int64)


def intern_slices(data: bytes, spans: Int64) -> tuple[Int64, list[bytes]]:
    """Return the number of each slice among the distinct ones, and the distinct slices."""
    ids = np.zeros(len(spans), np.int64)
    names: list[bytes] = []
    buffer = np.frombuffer(data, np.uint8)
    for size in np.unique(spans[:, 1]).tolist():
        chosen = np.flatnonzero(spans[:, 1] == size)
        starts = spans[chosen, 0]
        table = buffer[starts[:, None] + np.arange(size)]
        remaining = np.arange(len(chosen))
        # Each round finds all slices that equal the first remaining one.
        while len(remaining):
            same = (table[remaining] == table[remaining[0]]).all(axis=1)
            ids[chosen[remaining[same]]] = len(names)
            names.append(bytes(table[remaining[0]]))
            remaining = remaining[~same]
            if len(names) > _MAX_KEYS:
                raise FormatError(
                    "data.too_many_features",
                    "the file has more than {limit:,} different features",
                    limit=_MAX_KEYS,
                )
    return ids, names


def _gather_slices(data: bytes, starts: Int64, sizes: Int64) -> NDArray[np.uint8]:
    if len(sizes) and sizes.mean() > _LONG_SLICE_BYTES:
        view = memoryview(data)
        pairs = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
        return np.frombuffer(b"".join([view[start:end] for start, end in pairs]), np.uint8)
    buffer = np.frombuffer(data, np.uint8)
    if len(sizes) and (sizes == sizes[0]).all():
        index = starts[:, None] + np.arange(sizes[0])
        return buffer[index].reshape(-1)
    offsets = make_offsets(sizes)
    gathered: NDArray[np.uint8]
    gathered = buffer[np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])]
    return gathered


def _sort_rows(
    items: DataColumn, rows: NDArray[Any], lengths: NDArray[Any]
) -> tuple[DataColumn, NDArray[Any], NDArray[Any]]:
    order = np.argsort(rows, kind="stable")
    index, _ = gather_ranges(make_offsets(lengths), order)
    return items.take(index), rows[order], lengths[order]


# ---- encoding


def encode_examples(table: DataTable) -> list[bytes]:
    """Return each row as a serialized ``tf.Example``, or ``tf.SequenceExample`` with sequences.

    Missing values are left out. Integers and booleans become ``int64_list``, floats
    ``float_list``, strings and bytes ``bytes_list``.
    """
    return [message.SerializeToString() for message in make_examples(table)]


def make_examples(table: DataTable) -> list[Message]:
    """Return each row as a message."""
    is_sequence = any(column.is_sequence for column in table.columns.values())
    messages = [
        proto.SequenceExample() if is_sequence else proto.Example() for _ in range(len(table))
    ]
    for name, column in table.columns.items():
        # Names in protocol buffers are valid UTF-8; those of other files may not be.
        key = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        for row, message in enumerate(messages):
            value = column.get_value(row)
            if value is None:
                continue
            if column.is_sequence:
                steps = message.feature_lists.feature_list[key]
                for step in value:
                    _fill_feature(steps.feature.add(), column.type, step)
                continue
            features = message.context if is_sequence else message.features
            items = value if column.is_list else [value]
            _fill_feature(features.feature[key], column.type, items)
    return messages


def _fill_feature(feature: Message, value_type: str, items: Sequence[Any]) -> None:
    if value_type in ("integer", "boolean"):
        feature.int64_list.value.extend(int(item) for item in items if item is not None)
        feature.int64_list.SetInParent()
    elif value_type == "float":
        feature.float_list.value.extend(float("nan") if i is None else i for i in items)
        feature.float_list.SetInParent()
    else:
        texts = (item.encode() if isinstance(item, str) else item or b"" for item in items)
        feature.bytes_list.value.extend(texts)
        feature.bytes_list.SetInParent()


def read_example_objects(examples: Sequence[Any]) -> DataTable:
    """Create a table from ``tf.train.Example`` or ``tf.train.SequenceExample`` objects.

    Raises:
        FormatError: One of them is not such a message.
    """
    decoder = ExampleDecoder()
    payloads = [example.SerializeToString() for example in examples]
    sizes = np.array([len(payload) for payload in payloads], np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1])) if len(sizes) else sizes
    decoder.add(b"".join(payloads), np.stack([starts, sizes], axis=1))
    return decoder.finish()


def is_example_object(value: Any) -> bool:
    """Return whether a value is a ``tf.train.Example`` or ``tf.train.SequenceExample``.

    The messages of `make_examples` count as such; they replace them without TensorFlow.
    """
    if isinstance(value, (proto.Example, proto.SequenceExample)):
        return True
    descriptor = getattr(value, "DESCRIPTOR", None)
    return getattr(descriptor, "full_name", "") in (
        "tensorflow.Example",
        "tensorflow.SequenceExample",
    )
