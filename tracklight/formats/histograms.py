"""Histograms by the thousand, as columns: what `values.decode_value` gives one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.legacy import make_buckets
from tracklight.formats.proto import Message
from tracklight.formats.tensor import DType
from tracklight.formats.values import (
    Histogram,
    Totals,
    decode_value,
    parse_content,
    to_totals,
)
from tracklight.types import Float64, Int64, Kind

#: Names of the columns of `Histograms.totals`.
TOTALS = tuple(one.name for one in fields(Totals))

_STORED = {int(DType.FLOAT): "<f4", int(DType.DOUBLE): "<f8"}
_UNKNOWN = (np.nan,) * len(TOTALS)
_NO_ODD = (0, 0, 0)
_NOTHING = np.zeros((0, 3))


@dataclass(frozen=True, slots=True, eq=False)
class Histograms:
    """The buckets of some histograms: those of number ``i`` begin at ``begin[i]``."""

    begin: Int64
    left: Float64
    right: Float64
    counts: Float64
    totals: Float64
    """A row for each, with the columns `TOTALS`; NaN where the log says nothing."""
    flaws: dict[int, str] = field(default_factory=dict)
    """Why some could not be decoded, which then have no buckets."""

    def __len__(self) -> int:
        return len(self.begin) - 1

    def rows(self) -> Int64:
        """For each bucket, which histogram it belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.begin))


def decode_many(values: Sequence[bytes | None]) -> Histograms:
    """Decode values of the old form and the new; None stands for one that could not be read."""
    tables: list[NDArray[Any]] = []
    totals = np.full((len(values), len(TOTALS)), np.nan)
    flaws: dict[int, str] = {}
    for place, data in enumerate(values):
        table = _NOTHING
        if data is not None:
            try:
                table, totals[place] = _decode(data)
            except FormatError as error:
                flaws[place] = str(error)
        tables.append(table)
    return _join(tables, totals, flaws)


def _join(tables: Sequence[NDArray[Any]], totals: Float64, flaws: dict[int, str]) -> Histograms:
    begin = np.zeros(len(tables) + 1, np.int64)
    np.cumsum([len(table) for table in tables], out=begin[1:])
    joined = np.concatenate([_NOTHING, *tables])
    left, right, counts = np.ascontiguousarray(joined.T)
    return Histograms(begin, left, right, counts, totals, flaws)


def _decode(data: bytes) -> tuple[NDArray[Any], Iterable[float]]:
    """The buckets, and the totals where the value has any."""
    value = proto.parse("Value", data)
    if value.HasField("histo"):
        given = value.histo
        return make_buckets(given), [*(getattr(given, name) for name in TOTALS[:5]), *_NO_ODD]
    table = _find_table(value)
    if table is not None:
        return table, _find_totals(value.metadata.plugin_data.content)
    decoded = decode_value(data, Kind.HISTOGRAM)
    assert isinstance(decoded, Histogram)
    table = np.stack([decoded.edges_left, decoded.edges_right, decoded.counts], axis=1)
    return table, _list_totals(decoded.totals)


def _find_table(value: Message) -> NDArray[Any] | None:
    """The buckets as nearly all writers store them; None for what needs a closer look."""
    tensor = value.tensor
    sizes = [dim.size for dim in tensor.tensor_shape.dim]
    stored = _STORED.get(tensor.dtype)
    content = tensor.tensor_content
    if stored is None or len(sizes) != 2 or sizes[1] != 3 or not content:
        return None
    itemsize = int(stored[-1])
    if len(content) != 3 * sizes[0] * itemsize:
        return None
    return np.frombuffer(content, stored).reshape(-1, 3)


def _find_totals(content: bytes) -> Iterable[float]:
    about = parse_content("HistogramPluginData", content)
    return _list_totals(to_totals(about.totals) if about.HasField("totals") else None)


def _list_totals(totals: Totals | None) -> Iterable[float]:
    return _UNKNOWN if totals is None else [getattr(totals, name) for name in TOTALS]
