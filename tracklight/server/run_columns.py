"""Columns for the table of runs: hyperparameters, and metrics in one number each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

import msgspec

from tracklight.errors import UsageError
from tracklight.formats.hparam_names import HParamValue
from tracklight.formats.json_number import Number, json_number
from tracklight.logdir.natural import natural_key
from tracklight.plugin_base import Nothing, Route
from tracklight.server.kept import Kept
from tracklight.server.overview import Overview
from tracklight.server.run_digests import RunDigests, Values
from tracklight.server.run_hparams import HParams, RunHParams
from tracklight.server.source import Source
from tracklight.types import Kind

_MOST_VALUES = 20

#: The order in which RunDigests has them.
_VALUES = ("last", "min", "max")
_NO_VALUES: Values = (None, None, None)
_NO_HPARAMS: HParams = {}

Cell = bool | Number | None


class HParamColumn(msgspec.Struct):
    """What is known of a hyperparameter over all runs; ``values`` are the first of them."""

    name: str
    type: Literal["number", "string", "bool"]
    distinct: int
    low: float | None
    high: float | None
    values: list[Cell]


class ColumnsThere(msgspec.Struct):
    """The columns that can be asked for; ``metrics`` are the tags of scalars."""

    hparams: list[HParamColumn]
    metrics: list[str]


class ColumnsAsk(msgspec.Struct, forbid_unknown_fields=True):
    """Columns by key: ``hparam:lr``, ``last:loss``, ``min:loss``, ``max:acc``."""

    columns: Annotated[list[str], msgspec.Meta(max_length=100)]


class ColumnsAnswer(msgspec.Struct):
    """For each column a value a run, in the order of ``runs``; null where a run has none."""

    runs: list[str]
    columns: dict[str, list[Cell]]


class RunColumns:
    """Answers for the table of runs."""

    def __init__(self, source: Source, overview: Overview) -> None:
        self._overview = overview
        self._hparams = RunHParams(source, overview)
        self._digests = RunDigests(source, overview)
        self._there = Kept(source, self._list)

    def routes(self) -> Sequence[Route]:
        return [
            Route("runs/columns", Nothing, self.list_columns, "GET"),
            Route("runs/columns", ColumnsAsk, self.read_columns),
        ]

    def list_columns(self, _: Nothing) -> ColumnsThere:
        """The columns that the table of runs can have."""
        return self._there.get()

    def read_columns(self, ask: ColumnsAsk) -> ColumnsAnswer:
        """Some columns of the table of runs."""
        runs = list(self._overview.runs())
        return ColumnsAnswer(runs, {key: self._read(key, runs) for key in ask.columns})

    def _list(self) -> ColumnsThere:
        columns: dict[str, list[HParamValue]] = {}
        for hparams in self._hparams.read().values():
            for name, value in hparams.items():
                columns.setdefault(name, []).append(value)
        names = sorted(columns, key=natural_key)
        tags = (shared.tag for shared in self._overview.tags() if shared.kind is Kind.SCALAR)
        return ColumnsThere(
            [describe(name, columns[name]) for name in names], sorted(tags, key=natural_key)
        )

    def _read(self, key: str, runs: Sequence[str]) -> list[Cell]:
        kind, _, name = key.partition(":")
        if kind == "hparam":
            known = self._hparams.read()
            return [_cell(known.get(run, _NO_HPARAMS).get(name)) for run in runs]
        if kind not in _VALUES:
            raise UsageError(
                f'"{key}" is no column; a column is hparam:NAME, last:TAG, min:TAG or max:TAG'
            )
        values = self._digests.read(name)
        at = _VALUES.index(kind)
        return [_cell(values.get(run, _NO_VALUES)[at]) for run in runs]


def describe(name: str, values: Iterable[HParamValue]) -> HParamColumn:
    """One hyperparameter by the values that runs have of it."""
    distinct = set(values)
    if any(isinstance(value, str) for value in distinct):
        words = sorted(map(str, distinct), key=natural_key)
        return HParamColumn(name, "string", len(distinct), None, None, [*words[:_MOST_VALUES]])
    if all(isinstance(value, bool) for value in distinct):
        return HParamColumn(name, "bool", len(distinct), None, None, [*sorted(distinct)])
    numbers = sorted(map(float, distinct), key=lambda value: (not math.isfinite(value), value))
    low, high = find_extent(numbers)
    cells = [_cell(value) for value in numbers[:_MOST_VALUES]]
    return HParamColumn(name, "number", len(distinct), low, high, cells)


def find_extent(numbers: Iterable[float]) -> tuple[float | None, float | None]:
    finite = [value for value in numbers if math.isfinite(value)]
    return min(finite, default=None), max(finite, default=None)


def _cell(value: HParamValue | None) -> Cell:
    return json_number(value) if isinstance(value, float) else value
