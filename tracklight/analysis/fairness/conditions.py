"""Conditions on columns that select the rows of a slice, as the What-If dashboard applies them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tracklight.analysis.evaluation.filters import Comparison, list_comparisons
from tracklight.analysis.evaluation.slices import SliceKey, format_bucket

_RANGE = re.compile(r"\[(\S+), (\S+)\)")


class RowCondition(msgspec.Struct, frozen=True):
    """A row fits if its value equals ``value``, is missing, or is in a range."""

    column: str
    value: str | None = None
    is_missing: bool = False
    low: float | None = None
    """From here on."""
    high: float | None = None
    """Below here, or up to here if ``is_closed``."""
    is_closed: bool = False


def make_conditions(
    key: SliceKey,
    where: str = "",
    bucket_edges: Mapping[str, Sequence[Sequence[float]]] | None = None,
) -> list[RowCondition] | None:
    """Return the conditions that all rows of a slice fit.

    Args:
        key: The slice.
        where: The filter of the whole evaluation.
        bucket_edges: The edges of the bucket rules of each column. Without them, they are taken
            from the names of buckets, which have six digits.

    Returns:
        The conditions; None if a filter is not a conjunction of simple comparisons.
    """
    conditions: list[RowCondition] = []
    filters = [value for name, value in key if name == "filter"] + ([where] if where else [])
    for text in filters:
        comparisons = list_comparisons(text)
        if comparisons is None:
            return None
        conditions += (_convert(comparison) for comparison in comparisons)
    for name, value in key:
        if name != "filter":
            conditions += _iter_value(name, value, (bucket_edges or {}).get(name, ()))
    return conditions


def _convert(comparison: Comparison) -> RowCondition:
    column, symbol, value = comparison.column, comparison.symbol, comparison.value
    if value is None:
        return RowCondition(column, is_missing=True)
    if symbol == "=" or not isinstance(value, float):
        return RowCondition(column, _format(value))
    if symbol == "<":
        return RowCondition(column, high=value)
    if symbol == "<=":
        return RowCondition(column, high=value, is_closed=True)
    return RowCondition(column, low=value if symbol == ">=" else math.nextafter(value, math.inf))


def _format(value: str | float | bool) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _iter_value(
    column: str, value: str, rules: Sequence[Sequence[float]]
) -> Iterator[RowCondition]:
    for edges in rules:
        for number in range(len(edges) + 1):
            if format_bucket(edges, number) == value:
                low = edges[number - 1] if number else None
                high = edges[number] if number < len(edges) else None
                if edges:
                    yield RowCondition(column, low=low, high=high)
                return
    ends = _parse_bucket(value)
    if ends is None:
        yield RowCondition(column, value)
    else:
        yield RowCondition(column, low=ends[0], high=ends[1])


def _parse_bucket(text: str) -> tuple[float | None, float | None] | None:
    match = _RANGE.fullmatch(text)
    try:
        if match:
            return float(match[1]), float(match[2])
        if text.startswith("< "):
            return None, float(text[2:])
        if text.startswith(">= "):
            return float(text[3:]), None
    except ValueError:
        pass
    return None
