"""Hyperparameters as columns of numbers over all sessions, which a page can filter and sort."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.experiments.sessions import Session
from tracklight.formats.hparams import Experiment, HParam, HParamValue, Interval
from tracklight.logdir.names import natural_key
from tracklight.types import Float64

#: Further hyperparameters are not shown.
MAX_HPARAMS = 1000

#: Smallest ratio of the highest to the lowest value for a logarithmic axis.
_MIN_LOG_RATIO = 50

_NONE = type(None)

HParamType = Literal["number", "bool", "string", "mixed"]


class CellState(IntEnum):
    """The meaning of a cell's number."""

    NUMBER = 0
    MISSING = 1
    TEXT = 2
    """An index into the categories of the column."""
    BOOL = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class CellColumn:
    """Cells of several types, encoded as numbers, which can be filtered and sorted at once."""

    values: Float64
    states: NDArray[np.uint8] | None
    """The `CellState` of each row; None if all are numbers."""
    categories: list[str]
    """In natural order."""

    def is_missing(self) -> NDArray[np.bool_]:
        """Return a mask of the rows without a value."""
        if self.states is None:
            return np.zeros(len(self.values), np.bool_)
        return np.asarray(self.states == CellState.MISSING)

    def numbers(self) -> Float64:
        """Return the values of the cells that are numbers."""
        return self.values if self.states is None else self.values[self.states == CellState.NUMBER]

    def get_value(self, row: int) -> HParamValue | None:
        """Return the decoded value of a row; None if it is missing."""
        state = CellState.NUMBER if self.states is None else self.states[row]
        if state == CellState.MISSING:
            return None
        value = float(self.values[row])
        if state == CellState.TEXT:
            return self.categories[int(value)]
        return bool(value) if state == CellState.BOOL else value


@dataclass(frozen=True, eq=False, kw_only=True)
class HParamColumn(CellColumn):
    """A hyperparameter and its value in each session."""

    name: str
    label: str
    description: str
    type: HParamType
    is_declared: bool
    distinct_count: int

    @property
    def differs(self) -> bool:
        return self.distinct_count > 1

    @property
    def is_mostly_numbers(self) -> bool:
        """Whether most values are numbers; a page shows such a column on an axis of numbers."""
        if self.states is None:
            return True
        numbers = int(np.count_nonzero(self.states == CellState.NUMBER))
        return 2 * numbers > len(self.states) - int(np.count_nonzero(self.is_missing()))


def encode_cells(cells: list[HParamValue | None]) -> CellColumn:
    """Encode cells of any types as a column."""
    values, states, categories = _encode(cells, set(map(type, cells)))
    return CellColumn(values=values, states=states, categories=categories)


def build_hparam_columns(
    sessions: Sequence[Session], experiments: Iterable[Experiment]
) -> list[HParamColumn]:
    """Return all declared and observed hyperparameters.

    Those that differ between sessions come first, then those that most sessions have.
    """
    declared = _merge_declared(experiments)
    observed = dict.fromkeys(name for session in sessions for name in session.hparams)
    names = [*dict.fromkeys([*declared, *observed])][:MAX_HPARAMS]
    columns = [
        _build_column(name, declared.get(name), [session.hparams.get(name) for session in sessions])
        for name in names
    ]
    return sorted(columns, key=_sort_key)


def get_finite_range(values: Float64) -> tuple[float | None, float | None]:
    """Return the lowest and the highest finite value; None if there is none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (None, None)


def should_use_log_scale(values: Float64) -> bool:
    """Return whether positive values span so many magnitudes that a logarithmic axis is better."""
    low, high = get_finite_range(values)
    return low is not None and high is not None and 0 < low and low * _MIN_LOG_RATIO <= high


def _sort_key(column: HParamColumn) -> tuple[object, ...]:
    missing = int(np.count_nonzero(column.is_missing()))
    return not column.differs, missing, not column.is_declared, natural_key(column.name)


def _merge_declared(experiments: Iterable[Experiment]) -> dict[str, HParam]:
    """Return the first declaration of each hyperparameter that has a name or a description."""
    declared: dict[str, HParam] = {}
    for experiment in experiments:
        for hparam in experiment.hparams:
            known = declared.setdefault(hparam.name, hparam)
            if not (known.display_name or known.description):
                declared[hparam.name] = hparam
    return declared


def _build_column(
    name: str, declared: HParam | None, cells: list[HParamValue | None]
) -> HParamColumn:
    kinds = set(map(type, cells))
    values, states, categories = _encode(cells, kinds)
    return HParamColumn(
        name=name,
        label=(declared and declared.display_name) or name,
        description=declared.description if declared else "",
        type=_get_type(kinds - {_NONE}, declared),
        is_declared=declared is not None,
        distinct_count=_count_distinct(values, states),
        categories=categories,
        values=values,
        states=states,
    )


def _encode(
    cells: list[HParamValue | None], kinds: set[type]
) -> tuple[Float64, NDArray[np.uint8] | None, list[str]]:
    """Encode cells as numbers, states and categories; columns of one type at once."""
    categories = sorted({cell for cell in cells if type(cell) is str}, key=natural_key)
    if len(kinds - {_NONE}) > 1:
        index_of = {text: index for index, text in enumerate(categories)}
        pairs = [_encode_cell(cell, index_of) for cell in cells]
        numbers, states = zip(*pairs, strict=True)
        return np.array(numbers, np.float64), np.array(states, np.uint8), categories
    if categories:
        codes: dict[object, float] = {text: index for index, text in enumerate(categories)}
        values = np.array([codes.get(cell, math.nan) for cell in cells], np.float64)
    else:
        values = np.array(cells, np.float64)
    state = CellState.TEXT if categories else CellState.BOOL if bool in kinds else CellState.NUMBER
    if state is CellState.NUMBER and _NONE not in kinds:
        return values, None, categories
    missing = np.array([cell is None for cell in cells], np.bool_)
    return values, np.where(missing, np.uint8(CellState.MISSING), np.uint8(state)), categories


def _encode_cell(cell: HParamValue | None, index_of: dict[str, int]) -> tuple[float, CellState]:
    if cell is None:
        return math.nan, CellState.MISSING
    if isinstance(cell, str):
        return index_of[cell], CellState.TEXT
    return float(cell), CellState.BOOL if isinstance(cell, bool) else CellState.NUMBER


def _count_distinct(values: Float64, states: NDArray[np.uint8] | None) -> int:
    """Count distinct values by state, so that True and 1 differ; all NaN are the same."""
    if states is None:
        return len(np.unique(values))
    kinds = (CellState.NUMBER, CellState.TEXT, CellState.BOOL)
    return sum(len(np.unique(values[states == kind])) for kind in kinds)


def _get_type(kinds: set[type], declared: HParam | None) -> HParamType:
    names: dict[Any, HParamType] = {float: "number", int: "number", bool: "bool", str: "string"}
    found = {names[kind] for kind in kinds}
    if len(found) == 1:
        return found.pop()
    if found:
        return "mixed"
    return "number" if declared and isinstance(declared.domain, Interval) else "string"


def format_number(value: float) -> str:
    """Return a number as JavaScript does.

    Example:
        >>> [format_number(value) for value in (2.0, 1e-05, 1e-07, 1e21)]
        ['2', '0.00001', '1e-7', '1e+21']
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        text = f"{Decimal(repr(value)):f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, _, exponent = f"{Decimal(repr(value)):e}".partition("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent):+d}"
