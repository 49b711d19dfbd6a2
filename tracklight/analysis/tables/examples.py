"""Decode blocks of ``tf.Example`` and ``tf.SequenceExample`` messages to columns, and encode rows.

Decoding works on all records of a block at once: each level of the messages is one call of
`scan_messages`, which returns the positions of the fields as arrays: faster than one message
object per record.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.tables.columns import (
    DataColumn,
    gather_ranges,
    make_bytes_column,
    make_list_column,
    make_number_column,
)
from tracklight.analysis.tables.table import DataTable
from tracklight.errors import FormatError, get_message
from tracklight.formats import proto, wire_format
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


class ExampleDecoder:
    """Collect the features of records, block by block, and return them as a table.

    Features that have different kinds of values in different records are left out with a message.
    """

    def __init__(self) -> None:
        self.row_count = 0
        self._chunks: dict[str, list[_Chunk]] = {}

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
        for name in sorted(self._chunks):
            try:
                columns.append(_join_chunks(name, self._chunks.pop(name), self.row_count))
            except FormatError as error:
                problems.append(get_message(error))
        return DataTable(columns, row_count=self.row_count, problems=problems)

    def _add_chunk(self, name: str, chunk: _Chunk) -> None:
        self._chunks.setdefault(name, []).append(chunk)
        if len(self._chunks) > _MAX_KEYS:
            raise FormatError(
                "data.too_many_features",
                "the file has more than {limit:,} different features",
                limit=_MAX_KEYS,
            )


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


def _decode_features(data: bytes, features: Int64, first_row: int) -> Iterable[tuple[str, _Chunk]]:
    """Yield the features of ``Features`` messages, given as (record, field, offset, size)."""
    entries = _scan(data, features[:, 2:], 1 << 1)
    records = features[entries[:, 0], 0]
    for name, rows, values in _group_entries(data, entries, records):
        lists = _find_lists(data, values)
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
        lists = _find_lists(data, steps[:, 2:])
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
    return wire_format.scan_messages(data, np.ascontiguousarray(spans), wanted)


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
        yield wire_format.decode_text(name), rows[is_last], values[chosen[is_last]]


def _find_lists(data: bytes, spans: Int64) -> Int64:
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
        return sizes // 4, content.view("<f4")
    return decode_varints(content, sizes)


def _decode_unpacked(data: bytes, kind: int, spans: Int64) -> tuple[Int64, Any]:
    """Decode lists of numbers that are empty, or whose items are separate fields."""
    name = "FloatList" if kind == _FLOAT_LIST else "Int64List"
    dtype = np.float64 if kind == _FLOAT_LIST else np.int64
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
        ends = starts + sizes
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        return np.frombuffer(b"".join([data[start:end] for start, end in pairs]), np.uint8)
    buffer = np.frombuffer(data, np.uint8)
    if len(sizes) and (sizes == sizes[0]).all():
        index = starts[:, None] + np.arange(sizes[0])
        return buffer[index].reshape(-1)
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    gathered: NDArray[np.uint8]
    gathered = buffer[np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])]
    return gathered


def _join_chunks(name: str, chunks: Sequence[_Chunk], row_count: int) -> DataColumn:
    kinds = {chunk.kind for chunk in chunks}
    if len({chunk.step_lengths is None for chunk in chunks}) > 1:
        raise FormatError(
            "data.feature_and_sequence",
            '"{feature}" is both a feature and a sequence feature; it is left out',
            feature=name,
        )
    if _BYTES_LIST in kinds and len(kinds) > 1:
        raise FormatError(
            "data.text_and_numbers",
            '"{feature}" has text in some records and numbers in others; it is left out',
            feature=name,
        )
    if _BYTES_LIST in kinds:
        all_items = [item for chunk in chunks for item in chunk.items]
        items = make_bytes_column(name, all_items)
    else:
        dtype = np.float64 if _FLOAT_LIST in kinds else np.int64
        items = make_number_column(
            name, np.concatenate([chunk.items for chunk in chunks], dtype=dtype)
        )
    rows = np.concatenate([chunk.rows for chunk in chunks])
    lengths = np.concatenate([chunk.lengths for chunk in chunks])
    if (np.diff(rows) <= 0).any():  # a block with integers in some records and floats in others
        items, rows, lengths = _sort_rows(items, rows, lengths)
    all_lengths = np.zeros(row_count, np.int64)
    all_lengths[rows] = lengths
    missing: Bool = np.ones(row_count, np.bool_)
    missing[rows] = False
    if chunks[0].step_lengths is None:
        missing |= all_lengths == 0
        return make_list_column(name, items, all_lengths, missing)
    steps = np.concatenate(
        [chunk.step_lengths for chunk in chunks if chunk.step_lengths is not None]
    )
    return replace(
        items,
        name=name,
        offsets=np.concatenate(([0], np.cumsum(all_lengths))),
        step_offsets=np.concatenate(([0], np.cumsum(steps))),
        missing=missing if missing.any() else None,
    )


def _sort_rows(items: DataColumn, rows: Int64, lengths: Int64) -> tuple[DataColumn, Int64, Int64]:
    order = np.argsort(rows, kind="stable")
    index, _ = gather_ranges(np.concatenate(([0], np.cumsum(lengths))), order)
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
        key = name.encode("utf-8", "surrogateescape")
        for row, message in enumerate(messages):
            value = column.get_value(row)
            if value is None:
                continue
            if column.is_sequence:
                entry = message.feature_lists.feature_list.add(key=key)
                entry.value.SetInParent()
                for step in value:
                    _fill_feature(entry.value.feature.add(), column.type, step)
                continue
            features = message.context if is_sequence else message.features
            items = value if column.is_list else [value]
            _fill_feature(features.feature.add(key=key).value, column.type, items)
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
    """Return whether a value is a ``tf.train.Example`` or ``tf.train.SequenceExample``."""
    descriptor = getattr(value, "DESCRIPTOR", None)
    return getattr(descriptor, "full_name", "") in (
        "tensorflow.Example",
        "tensorflow.SequenceExample",
    )
