"""One hyperparameter over all sessions, as numbers that a page can filter and sort by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.experiments.sessions import Session
from tracklight.formats.hparams import Experiment, HParam, HParamValue, Interval
from tracklight.logdir.names import natural_key
from tracklight.types import Float64

#: A table with more columns is nothing that anybody looks at.
MAX_HPARAMS = 1000

#: From this ratio of the highest to the lowest value on, a logarithmic axis shows more.
_MIN_LOG_RATIO = 50

_NONE = type(None)

HParamType = Literal["number", "bool", "string", "mixed"]


class CellState(IntEnum):
    """What a cell's number means."""

    NUMBER = 0
    MISSING = 1
    TEXT = 2
    """A place in the words of the column."""
    BOOL = 3


@dataclass(frozen=True, eq=False)
class HParamColumn:
    """A hyperparameter: what is known of it, and a number for each session."""

    name: str
    label: str
    description: str
    type: HParamType
    is_declared: bool
    distinct_count: int
    categories: list[str]
    values: Float64
    states: NDArray[np.uint8] | None
    """None where all sessions have a number."""

    @property
    def differs(self) -> bool:
        return self.distinct_count > 1

    def is_missing(self) -> NDArray[np.bool_]:
        """For each session, whether it was not given this one."""
        if self.states is None:
            return np.zeros(len(self.values), np.bool_)
        return np.asarray(self.states == CellState.MISSING)

    def numbers(self) -> Float64:
        """The cells that are numbers."""
        return self.values if self.states is None else self.values[self.states == CellState.NUMBER]

    def get_value(self, row: int) -> HParamValue | None:
        state = CellState.NUMBER if self.states is None else self.states[row]
        if state == CellState.MISSING:
            return None
        value = float(self.values[row])
        if state == CellState.TEXT:
            return self.categories[int(value)]
        return bool(value) if state == CellState.BOOL else value


def build_hparam_columns(
    sessions: Sequence[Session], experiments: Iterable[Experiment]
) -> list[HParamColumn]:
    """All that were declared or given; first those that differ, and that most sessions have."""
    declared = _merge_declared(experiments)
    observed = dict.fromkeys(name for session in sessions for name in session.hparams)
    names = [*dict.fromkeys([*declared, *observed])][:MAX_HPARAMS]
    columns = [
        _build_column(name, declared.get(name), [session.hparams.get(name) for session in sessions])
        for name in names
    ]
    return sorted(columns, key=_rank)


def get_finite_range(values: Float64) -> tuple[float | None, float | None]:
    """The lowest and the highest of the values that are finite."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (None, None)


def should_use_log_scale(values: Float64) -> bool:
    """Whether values spread over so many sizes that a logarithmic axis shows more."""
    low, high = get_finite_range(values)
    return low is not None and high is not None and 0 < low and low * _MIN_LOG_RATIO <= high


def _rank(column: HParamColumn) -> tuple[object, ...]:
    missing = int(np.count_nonzero(column.is_missing()))
    return not column.differs, missing, not column.is_declared, natural_key(column.name)


def _merge_declared(experiments: Iterable[Experiment]) -> dict[str, HParam]:
    """What the first who says something of a hyperparameter says."""
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
    values, states, words = _encode(cells, kinds)
    return HParamColumn(
        name=name,
        label=(declared and declared.display_name) or name,
        description=declared.description if declared else "",
        type=_get_type(kinds - {_NONE}, declared),
        is_declared=declared is not None,
        distinct_count=_count_distinct(values, states),
        categories=words,
        values=values,
        states=states,
    )


def _encode(
    cells: list[HParamValue | None], kinds: set[type]
) -> tuple[Float64, NDArray[np.uint8] | None, list[str]]:
    """Columns of one kind, which most are, are turned into numbers at once."""
    words = sorted({cell for cell in cells if type(cell) is str}, key=natural_key)
    if len(kinds - {_NONE}) > 1:
        places = {word: place for place, word in enumerate(words)}
        pairs = [_encode_cell(cell, places) for cell in cells]
        numbers, states = zip(*pairs, strict=True)
        return np.array(numbers, np.float64), np.array(states, np.uint8), words
    if words:
        codes: dict[object, float] = {word: place for place, word in enumerate(words)}
        values = np.array([codes.get(cell, math.nan) for cell in cells], np.float64)
    else:
        values = np.array(cells, np.float64)
    state = CellState.TEXT if words else CellState.BOOL if bool in kinds else CellState.NUMBER
    if state is CellState.NUMBER and _NONE not in kinds:
        return values, None, words
    missing = np.array([cell is None for cell in cells], np.bool_)
    return values, np.where(missing, np.uint8(CellState.MISSING), np.uint8(state)), words


def _encode_cell(cell: HParamValue | None, places: dict[str, int]) -> tuple[float, CellState]:
    if cell is None:
        return math.nan, CellState.MISSING
    if isinstance(cell, str):
        return places[cell], CellState.TEXT
    return float(cell), CellState.BOOL if isinstance(cell, bool) else CellState.NUMBER


def _count_distinct(values: Float64, states: NDArray[np.uint8] | None) -> int:
    """True is not one here, and all that is no number is the same."""
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
