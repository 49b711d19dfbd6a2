"""Columns of a chunk of rows, and SQL-like filters: ``age >= 60 and not region in ('EU', 'UK')``.

A column is a NumPy array, or categories with a code for each row.

Filters support ``=``, ``!=``, ``<>``, ``<``, ``<=``, ``>``, ``>=``, ``in``, ``between``, ``like``,
``is null``, ``and``, ``or``, ``not`` and parentheses, between a column and a literal or another
column. Text is in single quotes; column names that are no plain words are in double quotes or
backticks. As in SQL, a comparison with a missing value is neither true nor false.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import UsageError, list_similar_names
from tracklight.types import Bool

# ---- columns

_MAX_INTEGER_RANGE = 1 << 20
_MAX_EXACT_FLOAT = 1 << 53


@dataclass(frozen=True, eq=False)
class Categorical:
    """Distinct values as text and the code of each row; -1 is missing."""

    values: Sequence[str]
    codes: NDArray[Any]

    def __len__(self) -> int:
        return len(self.codes)


ColumnData = Categorical | NDArray[Any]


def get_column(columns: Mapping[str, ColumnData], name: str) -> ColumnData:
    """Return a column.

    Raises:
        UsageError: There is no such column; the message names the most similar one.
    """
    if name in columns:
        return columns[name]
    similar = list_similar_names(name, columns)
    hint = f'; did you mean "{similar[0]}"?' if similar else ""
    raise UsageError(f'no column "{name}"{hint}')


def format_value(value: Any) -> str:
    """Return the text of a slice value."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float) and value.is_integer() and abs(value) <= _MAX_EXACT_FLOAT:
        # Integers are floats in the chunks in which one is missing.
        return str(int(value))
    return str(value)


def factorize(name: str, data: ColumnData, max_values: int) -> Categorical:
    """Convert a column to categories; NaN, None and NaT are missing.

    Raises:
        UsageError: The column has more than ``max_values`` distinct values, or is not
            one-dimensional.
    """
    if isinstance(data, Categorical):
        return data
    array = np.asarray(data)
    if array.ndim != 1:
        raise UsageError(f'column "{name}" must have one dimension, not {array.ndim}')
    if array.dtype.kind == "O":
        result = _factorize_objects(array)
    elif array.dtype.kind in "iub":
        result = _factorize_integers(array)
    else:
        result = _factorize_sorted(array)
    if len(result.values) > max_values:
        raise UsageError(
            "data.too_many_values",
            'column "{column}" has {count:,} distinct values; divide it into buckets to slice by '
            "it",
            column=name,
            count=len(result.values),
        )
    return result


def _factorize_objects(array: NDArray[Any]) -> Categorical:
    numbers: dict[Any, int] = {}
    try:
        codes = [
            -1 if is_missing(value) else numbers.setdefault(value, len(numbers)) for value in array
        ]
    except TypeError as error:
        raise UsageError(f"a slice value cannot be compared: {error}") from None
    return _merge_equal_texts([format_value(value) for value in numbers], np.array(codes, np.int64))


def _merge_equal_texts(texts: list[str], codes: NDArray[Any]) -> Categorical:
    """Give values with the same text, such as 1 and "1", the same code."""
    numbers: dict[str, int] = {}
    table = np.array([numbers.setdefault(text, len(numbers)) for text in texts] + [-1], np.int64)
    return Categorical(list(numbers), table[codes])


def _factorize_integers(array: NDArray[Any]) -> Categorical:
    if not len(array):
        return Categorical([], np.zeros(0, np.int64))
    if array.dtype.kind == "b":
        return Categorical(["False", "True"], array.astype(np.int64))
    low, high = int(array.min()), int(array.max())
    if high - low > _MAX_INTEGER_RANGE or high > np.iinfo(np.int64).max:
        return _factorize_sorted(array)
    offsets = array.astype(np.int64) - low
    used = np.zeros(high - low + 1, bool)
    used[offsets] = True
    present = np.flatnonzero(used)
    positions = np.zeros(len(used), np.int64)
    positions[present] = np.arange(len(present))
    return Categorical([str(value + low) for value in present.tolist()], positions[offsets])


def _factorize_sorted(array: NDArray[Any]) -> Categorical:
    missing = np.isnan(array) if array.dtype.kind in "fc" else None
    if array.dtype.kind in "mM":
        missing = np.isnat(array)
        if np.datetime_data(array.dtype)[0] == "ns":  # which `tolist` returns as numbers
            array = array.astype(f"{array.dtype.kind}8[us]")
    values, codes = np.unique(array, return_inverse=True)
    codes = codes.reshape(-1)
    if missing is not None and missing.any():
        codes = np.where(missing, -1, codes)
    return Categorical([format_value(value) for value in values.tolist()], codes)


def is_missing(value: Any) -> bool:
    """Return whether a Python value is missing: None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # an array
        return False


# ---- filters

MAX_FILTER_LENGTH = 10_000
_MAX_NESTED_TERMS = 100

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | '(?P<text>(?:[^']|'')*)'
      | "(?P<quoted>(?:[^"]|"")*)"
      | `(?P<backtick>[^`]*)`
      | (?P<operator><=|>=|<>|!=|==|=|<|>|\(|\)|,)
      | (?P<word>[^\W\d][\w.]*)
    )""",
    re.VERBOSE,
)
_WORDS = {"and", "or", "not", "in", "between", "like", "is", "null", "true", "false"}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, eq=False)
class Truth:
    """Three-valued logic for each row."""

    true: Bool
    null: Bool


Node = Callable[[Mapping[str, ColumnData], int], Truth]


@dataclass(frozen=True)
class Filter:
    """A parsed filter."""

    text: str
    columns: tuple[str, ...]
    node: Node

    def evaluate(self, columns: Mapping[str, ColumnData], rows: int) -> Bool:
        """Return which rows match.

        Raises:
            UsageError: A column is missing, or compared with a value of another type.
        """
        return self.node(columns, rows).true


def looks_like_filter(text: str) -> bool:
    """Return whether a text is a filter and not the name of a column."""
    return bool(re.search(r"[=<>]|\b(in|between|like|is)\b\s*[('\d]|\bis\s+(not\s+)?null\b", text))


@lru_cache(maxsize=256)
def parse_filter(text: str) -> Filter:
    """Parse a filter.

    Raises:
        UsageError: The text is no valid filter; the message says where.
    """
    if len(text) > MAX_FILTER_LENGTH:
        raise UsageError(f"the filter is longer than {MAX_FILTER_LENGTH:,} characters")
    parser = _Parser(text)
    node = parser.parse_or()
    if parser.kind != "end":
        raise parser.error("unexpected")
    return Filter(text, tuple(dict.fromkeys(parser.columns)), node)


@dataclass(frozen=True)
class Comparison:
    """A column compared with a value; a value of None means that the column is null."""

    column: str
    symbol: str
    """``=``, ``<``, ``<=``, ``>`` or ``>=``."""
    value: str | float | bool | None


def list_comparisons(text: str) -> list[Comparison] | None:
    """Return the comparisons of a filter that joins them with ``and``; None for other filters.

    Text is only compared for equality.
    """
    try:
        parser = _Parser(text)
        found: list[Comparison] = []
        while True:
            comparisons = parser.parse_simple()
            if comparisons is None:
                return None
            found += comparisons
            if parser.kind == "end":
                return found
            if not parser.accept("and"):
                return None
    except UsageError:
        return None


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.columns: list[str] = []
        self.depth = 0
        self.at = 0
        self.advance()

    def advance(self) -> None:
        rest = self.text[self.at :]
        self.start = self.at + len(rest) - len(rest.lstrip())
        if not rest.strip():
            self.kind, self.value = "end", ""
            return
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            self.kind = "unknown"
            raise self.error("unexpected")
        self.at = match.end()
        self.kind = str(match.lastgroup)
        self.value = match[self.kind]
        if self.kind in ("text", "quoted"):
            quote = "'" if self.kind == "text" else '"'
            self.value = self.value.replace(quote * 2, quote)
        if self.kind in ("quoted", "backtick"):
            self.kind = "column"
        elif self.kind == "word":
            word = self.value.lower()
            self.kind, self.value = (word, word) if word in _WORDS else ("column", self.value)

    def error(self, what: str) -> UsageError:
        where = "the end" if self.kind == "end" else f'"{self.text[self.start :][:20]}"'
        return UsageError(f'invalid filter "{self.text[:200]}": {what} {where}')

    def accept(self, *kinds: str) -> bool:
        found = self.kind in kinds or (self.kind == "operator" and self.value in kinds)
        if found:
            self.advance()
        return found

    def expect(self, kind: str) -> None:
        if not self.accept(kind):
            raise self.error(f'expected "{kind}" instead of')

    def parse_or(self) -> Node:
        self.depth += 1
        if self.depth > _MAX_NESTED_TERMS:
            raise UsageError("the filter is nested too deeply")
        nodes = [self.parse_and()]
        while self.accept("or"):
            nodes.append(self.parse_and())
        self.depth -= 1
        return nodes[0] if len(nodes) == 1 else lambda columns, rows: _any(nodes, columns, rows)

    def parse_and(self) -> Node:
        nodes = [self.parse_not()]
        while self.accept("and"):
            nodes.append(self.parse_not())
        return nodes[0] if len(nodes) == 1 else lambda columns, rows: _all(nodes, columns, rows)

    def parse_not(self) -> Node:
        negated = False
        while self.accept("not"):
            negated = not negated
        if self.accept("("):
            node = self.parse_or()
            self.expect(")")
        else:
            node = self.parse_comparison()
        return _negate(node) if negated else node

    def parse_comparison(self) -> Node:
        if self.kind != "column":
            raise self.error("expected a column instead of")
        name = self.value
        self.columns.append(name)
        self.advance()
        if self.accept("is"):
            negated = self.accept("not")
            self.expect("null")
            return _negate(_null_test(name)) if negated else _null_test(name)
        negated = self.accept("not")
        if self.accept("in"):
            node = self._parse_in(name)
        elif self.accept("between"):
            low = self.parse_literal()
            self.expect("and")
            bounds = [_comparison(name, ">=", low), _comparison(name, "<=", self.parse_literal())]
            node = lambda columns, rows: _all(bounds, columns, rows)  # noqa: E731
        elif self.accept("like"):
            pattern = self.parse_literal()
            if not isinstance(pattern, str):
                raise UsageError('"like" needs a pattern in single quotes')
            node = _like(name, pattern)
        elif not negated and self.kind == "operator" and self.value in _COMPARISONS:
            symbol = self.value
            self.advance()
            if self.kind == "column":
                other = self.value
                self.columns.append(other)
                self.advance()
                return _column_comparison(name, symbol, other)
            return _comparison(name, symbol, self.parse_literal())
        elif not negated:
            return _comparison(name, "=", True)
        else:
            raise self.error("expected in, between or like instead of")
        return _negate(node) if negated else node

    def parse_simple(self) -> list[Comparison] | None:
        """Return a comparison with a literal, or None if there is another kind of expression."""
        if self.kind != "column":
            return None
        name = self.value
        self.advance()
        if self.accept("is"):
            return [Comparison(name, "=", None)] if self.accept("null") else None
        if self.accept("between"):
            low = self.parse_literal()
            self.expect("and")
            found = [Comparison(name, ">=", low), Comparison(name, "<=", self.parse_literal())]
        elif self.kind in ("end", "and"):
            return [Comparison(name, "=", True)]
        elif self.kind == "operator" and self.value in ("=", "==", "<", "<=", ">", ">="):
            symbol = self.value.replace("==", "=")
            self.advance()
            found = [Comparison(name, symbol, self.parse_literal())]
        else:
            return None
        is_known = all(item.symbol == "=" or type(item.value) is float for item in found)
        return found if is_known else None

    def _parse_in(self, name: str) -> Node:
        self.expect("(")
        values = [self.parse_literal()]
        while self.accept(","):
            values.append(self.parse_literal())
        self.expect(")")
        nodes = [_comparison(name, "=", value) for value in values]
        return lambda columns, rows: _any(nodes, columns, rows)

    def parse_literal(self) -> str | float | bool:
        kind, value = self.kind, self.value
        if kind not in ("number", "text", "true", "false"):
            raise self.error("expected a value instead of")
        self.advance()
        if kind == "number":
            return float(value)
        return value if kind == "text" else kind == "true"


def _any(nodes: Iterable[Node], columns: Mapping[str, ColumnData], rows: int) -> Truth:
    true, null = np.zeros(rows, bool), np.zeros(rows, bool)
    for node in nodes:
        part = node(columns, rows)
        true, null = true | part.true, null | part.null
    return Truth(true, null & ~true)


def _all(nodes: Iterable[Node], columns: Mapping[str, ColumnData], rows: int) -> Truth:
    true, false = np.ones(rows, bool), np.zeros(rows, bool)
    for node in nodes:
        part = node(columns, rows)
        true, false = true & part.true, false | ~(part.true | part.null)
    return Truth(true, ~(true | false))


def _negate(node: Node) -> Node:
    def evaluate(columns: Mapping[str, ColumnData], rows: int) -> Truth:
        part = node(columns, rows)
        return Truth(~(part.true | part.null), part.null)

    return evaluate


def _null_test(name: str) -> Node:
    def evaluate(columns: Mapping[str, ColumnData], rows: int) -> Truth:
        return Truth(_is_null(get_column(columns, name)), np.zeros(rows, bool))

    return evaluate


def _is_null(data: ColumnData) -> Bool:
    if isinstance(data, Categorical):
        return np.asarray(data.codes < 0)
    if data.dtype.kind == "f":
        return np.isnan(data)
    if data.dtype.kind in "mM":
        return np.isnat(data)
    if data.dtype.kind == "O":
        return np.asarray(factorize("", data, len(data)).codes < 0)
    return np.zeros(len(data), bool)


def _comparison(name: str, symbol: str, literal: str | float | bool) -> Node:
    compare = _COMPARISONS[symbol]

    def evaluate(columns: Mapping[str, ColumnData], rows: int) -> Truth:
        data = get_column(columns, name)
        if isinstance(data, Categorical) or data.dtype.kind not in "fiub":
            return _compare_categories(name, data, lambda text: _compare_text(text, literal))
        if isinstance(literal, str):
            raise UsageError(
                f'column "{name}" is numeric; compare it with a number, not "{literal}"'
            )
        null = _is_null(data)
        return Truth(compare(data, literal) & ~null, null)

    def _compare_text(text: str, value: str | float | bool) -> bool:
        if isinstance(value, str):
            return bool(compare(text, value))
        if isinstance(value, bool):
            return bool(compare(text.lower(), str(value).lower()))
        try:
            return bool(compare(float(text), value))
        except ValueError:
            raise UsageError(
                f'column "{name}" is text; compare it with a value in single quotes'
            ) from None

    return evaluate


def _compare_categories(name: str, data: ColumnData, test: Callable[[str], bool]) -> Truth:
    column = factorize(name, data, len(data))
    matches = np.array([test(text) for text in column.values] + [False])
    return Truth(matches[column.codes], np.asarray(column.codes < 0))


def _column_comparison(name: str, symbol: str, other: str) -> Node:
    compare = _COMPARISONS[symbol]

    def evaluate(columns: Mapping[str, ColumnData], rows: int) -> Truth:
        first, second = get_column(columns, name), get_column(columns, other)
        null = _is_null(first) | _is_null(second)
        left, right = _to_comparable(first), _to_comparable(second)
        if (left.dtype.kind == "U") != (right.dtype.kind == "U"):
            raise UsageError(f'columns "{name}" and "{other}" have different types')
        return Truth(compare(left, right) & ~null, null)

    return evaluate


def _to_comparable(data: ColumnData) -> NDArray[Any]:
    if isinstance(data, Categorical):
        return np.asarray(np.array([*data.values, ""])[data.codes])
    if data.dtype.kind in "fiubmM":
        return data
    return np.array([format_value(value) for value in data.tolist()] or np.zeros(0, "U1"))


def _like(name: str, pattern: str) -> Node:
    def evaluate(columns: Mapping[str, ColumnData], rows: int) -> Truth:
        data = get_column(columns, name)
        return _compare_categories(name, data, lambda text: matches_like(text, pattern))

    return evaluate


def matches_like(text: str, pattern: str) -> bool:
    """Return whether a text matches a LIKE pattern (``%`` any text, ``_`` any character).

    Takes time proportional to text times pattern, unlike a regular expression.
    """
    at = in_pattern = 0
    star, resume = -1, 0
    while at < len(text):
        if in_pattern < len(pattern) and pattern[in_pattern] == "%":
            star, resume = in_pattern, at
            in_pattern += 1
        elif in_pattern < len(pattern) and pattern[in_pattern] in ("_", text[at]):
            at += 1
            in_pattern += 1
        elif star >= 0:
            resume += 1
            at, in_pattern = resume, star + 1
        else:
            return False
    return all(character == "%" for character in pattern[in_pattern:])
