"""`HParamsTable`: hyperparameters and metrics of all trials as one table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.experiments.columns import HParamColumn, Metric, make_reduction
from tracklight.analysis.experiments.session_store import SessionSnapshot, SessionStore
from tracklight.analysis.experiments.sessions import Session, inherit_hparams
from tracklight.analysis.source import Context, Problem
from tracklight.errors import UsageError, list_similar_names
from tracklight.formats.hparams import HParamValue
from tracklight.index.catalog import Catalog
from tracklight.reader.tables import NameFilter, select_names, warn_no_match
from tracklight.types import Kind
from tracklight.util.frames import Column, Frame, ObjectColumn, TimeColumn

Reduction = Literal["last", "min", "max"]

HPARAM_PREFIX, METRIC_PREFIX = "hparams.", "metrics."


@dataclass(frozen=True)
class Trial:
    """One training run, or a directory of runs, with its hyperparameters and results.

    Attributes:
        run: The run, or the directory above its runs, that logged the hyperparameters.
        group: Trials of the same group repeat the same hyperparameters.
        hparams: The hyperparameters by name. Numbers are floats, as they are stored.
        metrics: The metrics by name; metrics without a value are omitted.
        status: ``"unknown"``, ``"success"``, ``"failure"``, ``"running"``, ``"pruned"``
            or ``"infeasible"``.
        start_time: Start time; None if unknown.
        end_time: End time; None if it is running or unknown.
        study: The directory of the trials that this one can be compared with. Groups of different
            studies are different, even if they have the same name.
    """

    run: str
    group: str
    hparams: Mapping[str, HParamValue]
    metrics: Mapping[str, float]
    status: str
    start_time: datetime | None
    end_time: datetime | None
    study: str = "."


class HParamsTable(Frame):
    """Hyperparameters and metrics, one row per trial.

    The columns are ``run``, ``study``, ``group``, ``status``, ``start_time``, ``end_time``, then
    ``hparams.<name>`` and ``metrics.<name>``. The name of a metric is its tag, prefixed with
    the run below the trial that logged it, if any: ``validation/epoch_loss``.

    Iterating yields a `Trial` for each row, and an integer index returns one.

    Example:
        >>> table = log.hparams()
        >>> table[0].hparams["lr"], table["metrics.accuracy"].max()
        (0.1, 0.93)
        >>> table.to_pandas().sort_values("metrics.accuracy")
    """

    _noun = "trial"

    def __init__(
        self,
        trials: Sequence[Trial],
        hparams: Mapping[str, Column],
        metrics: Mapping[str, NDArray[np.float64]],
    ) -> None:
        super().__init__(
            {
                "run": ObjectColumn([trial.run for trial in trials], "string"),
                "study": ObjectColumn([trial.study for trial in trials], "string"),
                "group": ObjectColumn([trial.group for trial in trials], "string"),
                "status": ObjectColumn([trial.status for trial in trials], "string"),
                "start_time": _to_times([trial.start_time for trial in trials]),
                "end_time": _to_times([trial.end_time for trial in trials]),
                **{f"{HPARAM_PREFIX}{name}": column for name, column in hparams.items()},
                **{f"{METRIC_PREFIX}{name}": column for name, column in metrics.items()},
            }
        )
        self.trials = tuple(trials)
        self.hparams = tuple(hparams)
        self.metrics = tuple(metrics)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...
    @overload
    def __getitem__(self, key: int) -> Trial: ...
    def __getitem__(self, key: str | int) -> NDArray[Any] | Trial:
        """Return a column by its name, or a trial by its position."""
        return super().__getitem__(key) if isinstance(key, str) else self.trials[key]


class HParamsReader:
    """Reads the trials of a log, cached until the log changes."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._store = SessionStore(_create_context(catalog))

    def read(self, metrics: NameFilter = None, reduce: Reduction = "last") -> HParamsTable:
        state = self._store.get_snapshot()
        selected = _select_metrics(state, metrics)
        columns_read = self._store.read_metrics(
            state, [*selected.values()], make_reduction(reduce, 0, 0)
        )
        columns = {
            name: np.where(np.isnan(steps), np.nan, values)
            for name, (values, steps) in zip(selected, columns_read, strict=True)
        }
        has_value = {
            name: ~np.isnan(steps) for name, (_, steps) in zip(selected, columns_read, strict=True)
        }
        trials = [
            _make_trial(
                state,
                session,
                {
                    name: float(column[row])
                    for name, column in columns.items()
                    if has_value[name][row]
                },
            )
            for row, session in enumerate(state.sessions)
        ]
        hparams = {column.name: _to_column(column, len(trials)) for column in state.hparams}
        return HParamsTable(trials, hparams, columns)

    def read_run(self, run: str) -> dict[str, HParamValue]:
        """Return the hyperparameters of a run: its own, or those of the trial it belongs to."""
        state = self._store.get_snapshot()
        own = {session.name: session.hparams for session in state.sessions}
        return dict(inherit_hparams(own, [run]).get(run, {}))


def _select_metrics(state: SessionSnapshot, name_filter: NameFilter) -> dict[str, Metric]:
    named = _name_metrics(state.metrics)

    def make_error(name: str) -> UsageError:
        nearest = list_similar_names(name, named)
        hint = f' Did you mean "{nearest[0]}"?' if nearest else ""
        return UsageError(f'No trial has the metric "{name}".{hint}')

    names = select_names(
        name_filter, named, make_error, lambda item: warn_no_match("metric", item, [*named])
    )
    return {name: named[name] for name in names}


def _name_metrics(metrics: Sequence[Metric]) -> dict[str, Metric]:
    """Return the metrics by ``<group>/<tag>``, or by their HTTP API key if that is ambiguous."""
    named: dict[str, Metric] = {}
    for metric in metrics:
        name = f"{metric.group}/{metric.tag}" if metric.group else metric.tag
        named[metric.key if name in named else name] = metric
    return named


def _make_trial(state: SessionSnapshot, session: Session, metrics: Mapping[str, float]) -> Trial:
    start, end, _ = state.get_times(session)
    return Trial(
        session.name,
        session.group,
        dict(session.hparams),
        metrics,
        session.status.name.lower(),
        _to_datetime(start),
        _to_datetime(end),
        session.study,
    )


def _to_datetime(seconds: float) -> datetime | None:
    try:
        return None if math.isnan(seconds) else datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, OSError, ValueError):  # out of range
        return None


def _to_times(times: Sequence[datetime | None]) -> TimeColumn:
    return TimeColumn(
        np.array([math.nan if time is None else time.timestamp() for time in times], float)
    )


def _to_column(column: HParamColumn, rows: int) -> Column:
    if column.type == "number":
        return column.values
    values = [column.get_value(row) for row in range(rows)]
    return ObjectColumn(values, column.type)


def _create_context(catalog: Catalog) -> Context:
    """Create a context for reading trials without a server."""
    known: tuple[int, dict[str, tuple[str, ...]]] = (-1, {})

    def get_scalars() -> dict[str, tuple[str, ...]]:
        nonlocal known
        if known[0] != catalog.version:
            runs = [run.name for run in catalog.runs()]
            shared = catalog.shared_tags(runs)
            scalars = {tag.tag: tag.runs for tag in shared if tag.kind is Kind.SCALAR}
            known = catalog.version, scalars
        return known[1]

    return Context(
        log=catalog,
        scalar_tags=lambda: [*get_scalars()],
        runs_with=lambda tag: get_scalars().get(tag, ()),
        cursor=lambda: str(catalog.version),
        describe_error=lambda error: Problem(str(error), ""),
    )
