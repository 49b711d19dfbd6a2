"""Define slices of a data set and assign rows to them.

A slice is identified by its key: pairs of column and value, ``()`` for all rows. Its name follows
TensorFlow Model Analysis: ``Overall``, ``sex:F``, or ``sex_X_age:F_X_>= 60`` when crossed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.evaluation import filters
from tracklight.analysis.evaluation.filters import (
    Categorical,
    ColumnData,
    factorize,
    format_value,
    get_column,
)
from tracklight.errors import UsageError
from tracklight.types import Float64, Int64

SliceKey = tuple[tuple[str, str], ...]

OVERALL: SliceKey = ()
OVERALL_NAME = "Overall"
MAX_SLICES = 100_000

_MAX_COMBINATIONS = 1 << 62
#: Of a number; rounding to more overflows.
_MAX_DIGITS = 300


@dataclass(frozen=True)
class Buckets:
    """A rule that divides a numeric column into buckets.

    Give exactly one of the arguments. Buckets are half-open: ``[20, 40)``; the first and the last
    are unbounded.

    Args:
        edges: Bounds between buckets, ascending.
        quantiles: Number of buckets with about the same number of rows.
        count: Number of buckets of equal width between the minimum and the maximum, with rounded
            bounds.
        width: Width of each bucket; bounds are multiples of it.

    Example:
        >>> SliceSpec("age", buckets={"age": Buckets(edges=[25, 40, 60])})
    """

    edges: tuple[float, ...] | None = None
    quantiles: int | None = None
    count: int | None = None
    width: float | None = None

    def __post_init__(self) -> None:
        given = [v for v in (self.edges, self.quantiles, self.count, self.width) if v is not None]
        if len(given) != 1:
            raise UsageError("buckets need exactly one of edges, quantiles, count and width")
        if self.edges is not None:
            edges = tuple(float(edge) for edge in self.edges)
            if not edges or any(not a < b for a, b in pairwise(edges)):
                raise UsageError(
                    "data.bucket_edges",
                    "bucket edges must be ascending, not {edges}",
                    edges=list(self.edges),
                )
            object.__setattr__(self, "edges", edges)
        for number in (self.quantiles, self.count):
            if number is not None and not 2 <= number <= 1000:
                raise UsageError(
                    "data.bucket_count",
                    "the number of buckets must be 2 to 1000, not {count}",
                    count=number,
                )
        if self.width is not None and not self.width > 0:
            raise UsageError(f"the width of buckets must be positive, not {self.width}")

    def compute_edges(self, values: Float64) -> tuple[float, ...]:
        """Return the edges for a column or a sample of it; NaN and infinities are ignored.

        Raises:
            UsageError: The width gives more than 10,000 buckets.
        """
        if self.edges is not None:
            return self.edges
        finite = values[np.isfinite(values)]
        if not len(finite):
            return ()
        if self.quantiles is not None:
            inner = np.quantile(finite, np.arange(1, self.quantiles) / self.quantiles)
            return tuple(float(v) for v in np.unique(inner) if v > finite.min())
        low, high = float(finite.min()), float(finite.max())
        if self.count is not None:
            inner = np.linspace(low, high, self.count + 1)[1:-1]
            with np.errstate(over="ignore"):
                deviation = float(finite.std())
            rounded = _round_edges(inner, deviation, (high - low) / self.count)
            return tuple(float(v) for v in np.unique(rounded) if low < v <= high)
        assert self.width is not None
        first, last = np.floor(low / self.width) + 1, np.floor(high / self.width)
        if last - first > 10_000:
            raise UsageError(f"buckets of width {self.width:g} give more than 10,000 buckets")
        return tuple(float(v) for v in np.arange(first, last + 1) * self.width)


def _round_edges(edges: Float64, deviation: float, width: float) -> Float64:
    """Round to one digit finer than the standard deviation, as the What-If Tool does.

    The first digit of the width is kept, so that many buckets stay different.
    """
    if not (width > 0 and 0 < deviation < np.inf):
        return edges
    digits = max(1 - _get_exponent(deviation), -_get_exponent(width))
    return np.round(edges, min(digits, _MAX_DIGITS)) + 0.0  # not -0


def _get_exponent(value: float) -> int:
    return math.floor(math.log10(value))


@dataclass(frozen=True)
class SliceSpec:
    """Which slices to compute: every combination of values of some columns.

    Args:
        columns: The columns; several are crossed, none means all rows.
        buckets: Rules for numeric columns.
        values: Only slices with these values, by column. Columns that are not in ``columns`` are
            added.
        where: A filter such as ``age > 60 and sex = 'F'``. Without columns, it defines one slice;
            with columns, the slices are computed within it.
        missing: The value of rows whose column is missing; by default they are in no slice.
    """

    columns: str | Sequence[str] = ()
    buckets: Mapping[str, Buckets] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    where: str | None = None
    missing: str | None = None

    def __post_init__(self) -> None:
        columns = (self.columns,) if isinstance(self.columns, str) else tuple(self.columns)
        columns = (*columns, *(name for name in self.values if name not in columns))
        object.__setattr__(self, "columns", columns)
        values = {
            name: (format_value(chosen),)
            if isinstance(chosen, str) or not isinstance(chosen, Iterable)
            else tuple(format_value(value) for value in chosen)
            for name, chosen in self.values.items()
        }
        object.__setattr__(self, "values", values)
        if len(set(columns)) < len(columns):
            raise UsageError(
                "data.column_twice",
                "a slice uses a column twice: {columns}",
                columns=", ".join(columns),
            )
        if unknown := [name for name in self.buckets if name not in columns]:
            raise UsageError(f'buckets are given for "{unknown[0]}", which is not in the slice')

    @property
    def required_columns(self) -> tuple[str, ...]:
        """All columns that the specification needs."""
        named = filters.parse_filter(self.where).columns if self.where else ()
        return tuple(dict.fromkeys((*self.columns, *named)))


def parse_slice(value: Any) -> SliceSpec:
    """Return the specification for a short form.

    ``None``, ``()`` or ``"Overall"`` is all rows, a string is a column or, when it is no plain
    name, a filter; a list is crossed columns, a mapping is fixed values.
    """
    if isinstance(value, SliceSpec):
        return value
    if value is None or value == OVERALL_NAME:
        return SliceSpec()
    if isinstance(value, str):
        return SliceSpec(where=value) if filters.looks_like_filter(value) else SliceSpec((value,))
    if isinstance(value, Mapping):
        return SliceSpec(values=dict(value))
    if isinstance(value, Sequence) and all(isinstance(name, str) for name in value):
        return SliceSpec(tuple(value))
    raise UsageError(
        f"a slice is a column, a list of columns, a filter or a mapping, not {value!r}"
    )


def format_slice(key: SliceKey) -> str:
    """Return the name of a slice."""
    if not key:
        return OVERALL_NAME
    return "_X_".join(name for name, _ in key) + ":" + "_X_".join(value for _, value in key)


def format_bucket(edges: Sequence[float], number: int) -> str:
    """Return the label of a bucket."""
    texts = [f"{edge:.6g}" for edge in edges]
    if len(set(texts)) < len(texts):
        texts = [repr(edge) for edge in edges]
    if not texts:
        return "all"
    if number == 0:
        return f"< {texts[0]}"
    if number == len(texts):
        return f">= {texts[-1]}"
    return f"[{texts[number - 1]}, {texts[number]})"


def make_sort_key(key: SliceKey) -> tuple[tuple[float, str], ...]:
    """Return a key that sorts slices by value: numbers and buckets by size, then text."""
    return tuple((_parse_position(value), value) for _, value in key)


def _parse_position(value: str) -> float:
    if value.startswith("< "):
        return -np.inf
    number = value.removeprefix(">= ").removeprefix("[").partition(", ")[0]
    try:
        return float(number)
    except ValueError:
        return np.inf


@dataclass(frozen=True, eq=False)
class SliceCodes:
    """The slice of each row for one specification; -1 for rows in none."""

    codes: Int64
    spec: int


class SliceEncoder:
    """Assign rows to slices, numbering slices in the order in which they appear.

    Args:
        specs: What to slice by.
        edges: Bucket edges of the rules that depend on the data, by column and rule. Missing ones
            are taken from the first chunk.
    """

    def __init__(
        self,
        specs: Sequence[SliceSpec],
        edges: Mapping[tuple[str, Buckets], tuple[float, ...]] | None = None,
    ) -> None:
        self.specs = list(specs)
        self.keys: list[SliceKey] = []
        self.key_specs: list[int] = []
        self._edges = dict(edges or {})
        self._numbers: list[dict[SliceKey, int]] = [{} for _ in self.specs]
        self._filters = [filters.parse_filter(spec.where) if spec.where else None for spec in specs]

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def bucket_edges(self) -> dict[str, list[list[float]]]:
        """The edges of all bucket rules that were used, by column."""
        found: dict[str, list[list[float]]] = {}
        for (name, _), edges in self._edges.items():
            found.setdefault(name, []).append(list(edges))
        return found

    def encode(self, columns: Mapping[str, ColumnData], rows: int) -> list[SliceCodes]:
        """Return the slice of each row, for each specification.

        Raises:
            UsageError: A column is missing, or there are too many slices.
        """
        factors: dict[tuple[str, Buckets | None], Categorical] = {}
        return [
            SliceCodes(self._encode_spec(number, columns, rows, factors), number)
            for number in range(len(self.specs))
        ]

    def _encode_spec(
        self,
        number: int,
        columns: Mapping[str, ColumnData],
        rows: int,
        factors: dict[tuple[str, Buckets | None], Categorical],
    ) -> Int64:
        spec, where = self.specs[number], self._filters[number]
        mask = None if where is None else where.evaluate(columns, rows)
        if not spec.columns:
            key = OVERALL if spec.where is None else (("filter", spec.where),)
            code = self._get_number(number, key)
            codes: Int64 = np.full(rows, code, np.int64)
        else:
            parts = []
            for name in spec.columns:
                rule = spec.buckets.get(name)
                if (name, rule) not in factors:
                    factors[name, rule] = self._factorize(name, rule, get_column(columns, name))
                part = _name_missing(factors[name, rule], spec.missing)
                parts.append(_select_values(part, spec.values.get(name)))
            if mask is not None:
                parts[0] = Categorical(parts[0].values, np.where(mask, parts[0].codes, -1))
                mask = None
            codes = self._combine(number, parts)
        return codes if mask is None else np.where(mask, codes, -1)

    def _factorize(self, name: str, rule: Buckets | None, data: ColumnData) -> Categorical:
        if rule is None:
            return factorize(name, data, MAX_SLICES)
        values = _to_numbers(name, data)
        if (name, rule) not in self._edges:
            self._edges[name, rule] = rule.compute_edges(values)
        edges = self._edges[name, rule]
        codes = np.searchsorted(np.asarray(edges, np.float64), values, side="right")
        labels = [format_bucket(edges, bucket) for bucket in range(len(edges) + 1)]
        return Categorical(labels, np.where(np.isnan(values), -1, codes))

    def _combine(self, number: int, parts: Sequence[Categorical]) -> Int64:
        """Return slice numbers for crossed columns."""
        size = 1
        for part in parts:
            size *= max(len(part.values), 1)
        if size >= _MAX_COMBINATIONS:
            raise UsageError(
                "data.too_many_combinations",
                "the crossed columns have too many combinations of values",
            )
        combined: Int64 = np.zeros(len(parts[0].codes), np.int64)
        missing = np.zeros(len(combined), bool)
        for part in parts:
            missing |= part.codes < 0
            combined = combined * max(len(part.values), 1) + part.codes
        combined[missing] = -1
        present, inverse = _list_present(combined, size)
        numbers = np.empty(len(present), np.int64)
        for at, code in enumerate(present.tolist()):
            if code < 0:
                numbers[at] = -1
                continue
            labels = []
            for part in reversed(parts):
                code, digit = divmod(code, len(part.values))
                labels.append(part.values[digit])
            key = tuple(zip(self.specs[number].columns, reversed(labels), strict=True))
            where = self.specs[number].where
            numbers[at] = self._get_number(number, (*key, ("filter", where)) if where else key)
        return numbers[inverse]

    def _get_number(self, spec: int, key: SliceKey) -> int:
        numbers = self._numbers[spec]
        if key not in numbers:
            if len(self.keys) >= MAX_SLICES:
                raise UsageError(
                    "data.too_many_slices",
                    "the slices have more than {limit:,} values; divide numeric columns into "
                    "buckets or choose fewer columns",
                    limit=MAX_SLICES,
                )
            numbers[key] = len(self.keys)
            self.keys.append(key)
            self.key_specs.append(spec)
        return numbers[key]


def _list_present(combined: Int64, size: int) -> tuple[Int64, Int64]:
    """Return the distinct codes, and the position of each row's code among them."""
    if size > max(len(combined), 1 << 16):
        present, inverse = np.unique(combined, return_inverse=True)
        return present, inverse.reshape(-1)
    used = np.zeros(size + 1, bool)
    used[combined] = True  # -1 is the last entry
    present = np.flatnonzero(used)
    positions = np.zeros(size + 1, np.int64)
    positions[present] = np.arange(len(present))
    present = np.where(present == size, -1, present)
    return present, positions[combined]


def _name_missing(part: Categorical, name: str | None) -> Categorical:
    if name is None or not (part.codes < 0).any():
        return part
    codes = np.where(part.codes < 0, len(part.values), part.codes)
    return Categorical([*part.values, name], codes)


def _select_values(part: Categorical, chosen: tuple[str, ...] | None) -> Categorical:
    if chosen is None:
        return part
    keep = np.array([value in chosen for value in part.values] + [False])
    return Categorical(part.values, np.where(keep[part.codes], part.codes, -1))


def _to_numbers(name: str, data: ColumnData) -> Float64:
    array: NDArray[Any]
    if isinstance(data, Categorical):
        try:
            table = np.array([float(value) for value in data.values] + [np.nan])
        except ValueError:
            raise UsageError(
                "data.no_buckets",
                'column "{column}" is not numeric, so it has no buckets',
                column=name,
            ) from None
        return np.asarray(table[data.codes], np.float64)
    array = np.asarray(data)
    if array.dtype.kind not in "fiub":
        raise UsageError(
            "data.no_buckets", 'column "{column}" is not numeric, so it has no buckets', column=name
        )
    return array.astype(np.float64)
