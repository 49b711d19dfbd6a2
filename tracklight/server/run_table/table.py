"""All runs with all of their columns, encoded as numbers.

A `RunTable` is the table at one moment: one version of the log, one revision of the notes and one
time, on which the states depend. Columns are built when they are first used.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from tracklight.analysis.experiments.columns import CellColumn, CellState, encode_cells
from tracklight.analysis.media.time_limits import capture_lines
from tracklight.errors import RunNotFoundError, UsageError
from tracklight.formats.hparams import HParamValue, RunStart
from tracklight.server.notes import NotesDocument, RunNote
from tracklight.server.run_table.run_columns import (
    STATE_NAMES,
    MetricKey,
    RecordReader,
    RunHParams,
    RunMetrics,
    StateTracker,
    parse_metric_key,
)
from tracklight.server.source import LogOverview, LogSource, RunRow, RunTotals, sum_runs
from tracklight.types import Float64, Int64
from tracklight.util.files import JsonNumber
from tracklight.util.memory import LruCache

ColumnKind = Literal[
    "text", "number", "bool", "mixed", "labels", "time", "duration", "bytes", "state"
]

#: Columns of hyperparameters and metrics; each takes a megabyte for 100,000 runs.
_MAX_CACHED_COLUMNS = 200
#: What was computed from a table is used for so long, whatever the states of runs are.
_STATE_INTERVAL_S = 10
_EMPTY_NOTE = RunNote()

#: A table that takes longer to build, in processor time, is replaced in the background.
MAX_BUILD_S = 0.25

#: The separator of labels within one text; labels are typed with commas between them.
_LABEL_SEPARATOR = ", "


@dataclass(frozen=True, eq=False, kw_only=True)
class TableColumn(CellColumn):
    """A column and its values in all runs."""

    key: str
    kind: ColumnKind

    def list_items(self) -> list[tuple[str, ...]]:
        """Return the texts that each category consists of: several for labels, otherwise one."""
        if self.kind != "labels":
            return [(text,) for text in self.categories]
        return [tuple(text.split(_LABEL_SEPARATOR)) for text in self.categories]

    def take_cells(self, rows: Int64) -> list[HParamValue | None]:
        """Return the decoded values of some rows."""
        return [self.get_value(row) for row in rows.tolist()]


class _LogColumns:
    """The part of the table that depends on the log only."""

    def __init__(
        self,
        source: LogSource,
        overview: LogOverview,
        records: RecordReader,
        hparams: RunHParams,
        metrics: RunMetrics,
    ) -> None:
        self._runs = overview.runs()
        self.rows: Sequence[RunRow] = list(self._runs.values())
        self.names = list(self._runs)
        self.index_of = {name: index for index, name in enumerate(self.names)}
        self.records = records.read(self.names)
        self.tracker = StateTracker(self.rows, self.records)
        self._source = source
        self._hparams = hparams
        self._metrics = metrics
        self._lock = threading.Lock()
        self._cached: LruCache[str, TableColumn] = LruCache(max_items=_MAX_CACHED_COLUMNS)
        # Read now: later, the tags may be those of another version of the log.
        self.metric_names = list(overview.scalar_tags())
        self._scalar_tags = frozenset(self.metric_names)

    def find(self, key: str) -> TableColumn | None:
        """Return a column; None if no run has it."""
        with self._lock:
            column = self._cached.find(key)
            if column is None:
                column = self._build(key)
                if column is not None:
                    self._cached.put(key, column)
            return column

    def is_cached(self, key: str) -> bool:
        with self._lock:
            return self._cached.find(key) is not None

    def build_all_of(self, other: _LogColumns) -> None:
        """Build the columns that another table has, so that the next sort or filter has them."""
        for key in other._cached.list_keys():
            self.find(key)

    def find_cells(self, key: str, rows: Int64) -> list[HParamValue | None] | None:
        """Return a column in some rows without reading it in all others; None if it has to be."""
        kind, _, name = key.partition(":")
        names = [self.names[row] for row in rows.tolist()]
        metric = parse_metric_key(key)
        if metric is not None and metric.tag in self._scalar_tags:
            values, is_missing = self._metrics.read_some(metric, names)
            pairs = zip(values.tolist(), is_missing.tolist(), strict=True)
            return [None if missing else value for value, missing in pairs]
        if kind == "hparam":
            hparams = self._hparams.read_some(names)
            return [own.get(name) if (own := hparams.get(run)) else None for run in names]
        if key in _START_FIELDS:
            owners = (self.records.owners[row] for row in rows.tolist())
            starts = [self.records.find_start(owner) for owner in owners]
            return [
                getattr(start, _START_FIELDS[key]) or None if start else None for start in starts
            ]
        return None

    @cached_property
    def common_folder(self) -> str:
        return get_common_folder(self.names)

    @cached_property
    def totals(self) -> RunTotals:
        return sum_runs(self.rows)

    @cached_property
    def hparam_names(self) -> list[str]:
        names = (name for hparams in self._hparams.read().values() for name in hparams)
        return list(dict.fromkeys(names))

    def _build(self, key: str) -> TableColumn | None:
        if key in _PLAIN_COLUMNS:
            return _PLAIN_COLUMNS[key](self)
        kind, _, name = key.partition(":")
        if kind == "hparam":
            return self._build_hparam(key, name)
        if kind in NAME_COLUMNS:
            return make_column(key, [*NAME_COLUMNS[kind](self.names, name)])
        metric = parse_metric_key(key)
        if metric is not None and metric.tag in self._scalar_tags:
            return self._build_metric(key, metric)
        return None

    def _build_hparam(self, key: str, name: str) -> TableColumn | None:
        hparams = self._hparams.read()
        cells = [own.get(name) if (own := hparams.get(run)) else None for run in self.names]
        if all(cell is None for cell in cells):
            return None
        return make_column(key, cells)

    def _build_metric(self, key: str, metric: MetricKey) -> TableColumn:
        values, is_missing = self._metrics.read_column(metric, self._runs)
        return make_number_column(key, "number", values, is_missing)

    # ---- columns of all runs

    def _build_names(self) -> TableColumn:
        # Runs are listed in natural order, which is the order of categories.
        states = np.full(len(self.names), CellState.TEXT, np.uint8)
        values = np.arange(len(self.names), dtype=np.float64)
        return TableColumn(
            key="name", kind="text", values=values, states=states, categories=self.names
        )

    def _build_start(self) -> TableColumn:
        starts = (row.start_wall for row in self.rows)
        return make_number_column("start", "time", _to_floats(starts))

    def _build_duration(self) -> TableColumn:
        starts = _to_floats(row.start_wall for row in self.rows)
        tracker = self.tracker
        ends = np.where(np.isnan(tracker.end), tracker.last, tracker.end)
        return make_number_column("duration", "duration", np.maximum(ends - starts, 0.0))

    def _build_start_texts(self, key: str) -> TableColumn:
        starts = map(self.records.find_start, self.records.owners)
        field = _START_FIELDS[key]
        return make_column(
            key, [getattr(start, field) or None if start else None for start in starts]
        )


def _to_floats(values: Iterable[JsonNumber | None]) -> Float64:
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)


#: Columns of the record of the start of a run, and its fields.
_START_FIELDS = {"host": "host", "user": "user", "commit": "git_commit", "command": "command"}

_PLAIN_COLUMNS: dict[str, Callable[[_LogColumns], TableColumn]] = {
    "name": _LogColumns._build_names,
    "start": _LogColumns._build_start,
    "duration": _LogColumns._build_duration,
    "updated": lambda log: make_number_column("updated", "time", log.tracker.last),
    "points": lambda log: make_number_column(
        "points", "number", np.array([row.points for row in log.rows], np.float64)
    ),
    "tags": lambda log: make_number_column(
        "tags", "number", np.array([row.tags for row in log.rows], np.float64)
    ),
    "bytes": lambda log: make_number_column(
        "bytes", "bytes", np.array([row.bytes for row in log.rows], np.float64)
    ),
    "host": lambda log: log._build_start_texts("host"),
    "user": lambda log: log._build_start_texts("user"),
    "commit": lambda log: log._build_start_texts("commit"),
    "command": lambda log: log._build_start_texts("command"),
    "error": lambda log: make_column(
        "error", [end.error or None if end else None for end in log.records.list_ends()]
    ),
}

#: Columns that depend on the notes.
_NOTE_COLUMNS: dict[str, Callable[[RunNote], HParamValue | None]] = {
    "alias": lambda note: note.alias or None,
    "note": lambda note: note.note or None,
    "labels": lambda note: _LABEL_SEPARATOR.join(note.labels) or None,
    "hidden": lambda note: note.hidden,
    "pinned": lambda note: note.pinned,
}

#: The columns that every table has, in the order in which they are offered.
PLAIN_KEYS = (
    "name",
    "state",
    "start",
    "updated",
    "duration",
    "labels",
    "note",
    "host",
    "user",
    "commit",
    "command",
    "error",
    "alias",
    "points",
    "tags",
    "bytes",
)


class RunTable:
    """The table at one moment.

    Args:
        log: The columns that depend on the log only.
        notes: The notes of users.
        now: The time, in seconds since 1970.
        is_current: Whether the columns are those of the current log.
    """

    def __init__(
        self, log: _LogColumns, notes: NotesDocument, now: float, is_current: bool = True
    ) -> None:
        self.names = log.names
        self.now = now
        self.is_current = is_current
        self._log = log
        self._notes = notes
        self._own: dict[str, TableColumn] = {}

    def __len__(self) -> int:
        return len(self.names)

    def find_column(self, key: str) -> TableColumn | None:
        """Return a column; None if no run can have it."""
        if key != "state" and key not in _NOTE_COLUMNS:
            return self._log.find(key)
        if key not in self._own:
            self._own[key] = self._build_state() if key == "state" else self._build_note(key)
        return self._own[key]

    def get_column(self, key: str) -> TableColumn:
        """Return a column; one without values for a hyperparameter or metric that is gone.

        Raises:
            UsageError: The key is not one of a column.
        """
        column = self.find_column(key)
        if column is not None:
            return column
        if key.partition(":")[0] != "hparam" and parse_metric_key(key) is None:
            raise UsageError(
                "runs.unknown_column",
                'there is no column "{key}"; use hparam:NAME, last:TAG, min:TAG or max:TAG',
                key=key,
            )
        return make_number_column(key, "number", np.full(len(self), np.nan))

    def read_cells(self, key: str, rows: Int64) -> tuple[ColumnKind, list[HParamValue | None]]:
        """Return the kind of a column and its values in some rows.

        A column that nothing was sorted or filtered by is read for these rows only, which is much
        less than reading it for 100,000 runs.
        """
        if not self._log.is_cached(key):
            cells = self._log.find_cells(key, rows)
            if cells is not None:
                is_metric = parse_metric_key(key) is not None
                return ("number" if is_metric else make_column(key, cells).kind), cells
        column = self.get_column(key)
        return column.kind, column.take_cells(rows)

    def get_row(self, name: str) -> int:
        """Return the row of a run; raises RunNotFoundError."""
        try:
            return self._log.index_of[name]
        except KeyError:
            raise RunNotFoundError(name, self.names) from None

    @property
    def cache_key(self) -> Hashable:
        """Equal for tables with equal rows; states of runs may be some seconds old."""
        return self._log, self._notes.revision, self.now // _STATE_INTERVAL_S

    @property
    def common_folder(self) -> str:
        """The folder that all runs are in, with a slash; empty if there is none."""
        return self._log.common_folder

    @property
    def totals(self) -> RunTotals:
        return self._log.totals

    def find_row(self, name: str) -> int | None:
        return self._log.index_of.get(name)

    def get_run(self, row: int) -> RunRow:
        return self._log.rows[row]

    def read_row(self, row: int, keys: Iterable[str]) -> dict[str, HParamValue | None]:
        """Return some cells of one run."""
        return {key: self.get_column(key).get_value(row) for key in keys}

    def find_start(self, row: int) -> RunStart | None:
        """Return what the program of a run recorded at its start."""
        records = self._log.records
        return records.find_start(records.owners[row])

    def get_note(self, row: int) -> RunNote:
        return self._notes.runs.get(self.names[row], _EMPTY_NOTE)

    def list_hparams(self) -> list[str]:
        return self._log.hparam_names

    def list_metrics(self) -> list[str]:
        return self._log.metric_names

    @cached_property
    def search_texts(self) -> list[str]:
        """Name and alias of each run, in lower case."""
        texts = [name.lower() for name in self.names]
        for row, note in self._iter_notes():
            if note.alias:
                texts[row] += f"\n{note.alias.lower()}"
        return texts

    def _build_state(self) -> TableColumn:
        return TableColumn(
            key="state",
            kind="state",
            values=self._log.tracker.compute(self.now).astype(np.float64),
            states=np.full(len(self), CellState.TEXT, np.uint8),
            categories=STATE_NAMES,
        )

    def _build_note(self, key: str) -> TableColumn:
        """Build a column of a field of the notes; most runs have none."""
        read = _NOTE_COLUMNS[key]
        default = read(_EMPTY_NOTE)
        cells: dict[int, HParamValue | None] = {row: read(note) for row, note in self._iter_notes()}
        encoded = encode_cells([*cells.values(), default])
        fallback_value, fallback_state = encoded.values[-1], _get_states(encoded)[-1]
        values = np.full(len(self), fallback_value)
        states = np.full(len(self), fallback_state, np.uint8)
        rows = list(cells)
        values[rows], states[rows] = encoded.values[:-1], _get_states(encoded)[:-1]
        kind: ColumnKind = "labels" if key == "labels" else "bool" if default is False else "text"
        return TableColumn(
            key=key, kind=kind, values=values, states=states, categories=encoded.categories
        )

    def _iter_notes(self) -> list[tuple[int, RunNote]]:
        index_of = self._log.index_of
        return [
            (index_of[name], note) for name, note in self._notes.runs.items() if name in index_of
        ]


def _get_states(column: CellColumn) -> np.ndarray:
    if column.states is not None:
        return column.states
    return np.full(len(column.values), CellState.NUMBER, np.uint8)


def make_number_column(
    key: str, kind: ColumnKind, values: Float64, is_missing: np.ndarray | None = None
) -> TableColumn:
    """Return a column of numbers; by default NaN is missing."""
    missing = np.isnan(values) if is_missing is None else is_missing
    states = None
    if missing.any():
        states = np.where(missing, np.uint8(CellState.MISSING), np.uint8(CellState.NUMBER))
    return TableColumn(key=key, kind=kind, values=values, states=states, categories=[])


def make_column(key: str, cells: list[HParamValue | None]) -> TableColumn:
    """Return a column of cells of any types."""
    encoded = encode_cells(cells)
    found = {*np.unique(_get_states(encoded)).tolist()} - {int(CellState.MISSING)}
    kinds: dict[int, ColumnKind] = {
        CellState.NUMBER: "number",
        CellState.TEXT: "text",
        CellState.BOOL: "bool",
    }
    kind: ColumnKind = kinds[found.pop()] if len(found) == 1 else "mixed" if found else "text"
    return TableColumn(
        key=key,
        kind=kind,
        values=encoded.values,
        states=encoded.states,
        categories=encoded.categories,
    )


class RunTableStore:
    """Keeps the columns of the log. Thread-safe.

    If building them takes long, as for 100,000 runs, a change of the log does not delay requests:
    they get the columns of the log before the change, and others are built in the background.

    Args:
        source: The log.
        overview: The runs and tags of the log.
        hparams: The hyperparameters of all runs.
        metrics: The metrics of all runs.
        read_notes: Returns the current notes.
        clock: Returns the time, in seconds since 1970.
        max_build_s: Processor time up to which requests wait for the current columns.
    """

    def __init__(
        self,
        source: LogSource,
        overview: LogOverview,
        hparams: RunHParams,
        metrics: RunMetrics,
        read_notes: Callable[[], NotesDocument],
        clock: Callable[[], float] = time.time,
        max_build_s: float = MAX_BUILD_S,
    ) -> None:
        self._source = source
        self._overview = overview
        self._records = RecordReader(source, overview)
        self._hparams = hparams
        self._metrics = metrics
        self._read_notes = read_notes
        self._clock = clock
        self._max_build_s = max_build_s
        self._lock = threading.Lock()
        self._cached: _BuiltColumns | None = None
        self._is_building = False

    def get_table(self, must_have: Iterable[str] = ()) -> RunTable:
        """Return the table.

        Args:
            must_have: Runs that may be newer than the columns; then these are built again.
        """
        log, is_current = self._get_columns(must_have)
        return RunTable(log, self._read_notes(), self._clock(), is_current)

    def _get_columns(self, must_have: Iterable[str]) -> tuple[_LogColumns, bool]:
        with self._lock:
            # The version grows at the end of a refresh, but runs already grow during it.
            state = self._source.version, self._source.progress
            cached = self._cached
            if cached is not None and cached.state == state:
                return cached.log, True
            has_all = cached is not None and all(run in cached.log.index_of for run in must_have)
            if cached is None or cached.build_s <= self._max_build_s or not has_all:
                self._cached = self._build(state, cached)
                return self._cached.log, True
            # The threads that serve requests get about half of the time.
            if not self._is_building and time.monotonic() > cached.built_at_s + cached.build_s:
                self._is_building = True
                thread = threading.Thread(target=self._replace, args=(state, cached), daemon=True)
                thread.start()
            return cached.log, False

    def _replace(self, state: object, cached: _BuiltColumns) -> None:
        try:
            built = self._build(state, cached)
            with self._lock:
                self._cached = built
        finally:
            self._is_building = False

    def _build(self, state: object, before: _BuiltColumns | None) -> _BuiltColumns:
        started_s = time.thread_time()
        log = _LogColumns(self._source, self._overview, self._records, self._hparams, self._metrics)
        if before is not None and before.build_s > self._max_build_s:
            log.build_all_of(before.log)
        return _BuiltColumns(state, log, time.thread_time() - started_s, time.monotonic())


@dataclass(frozen=True, eq=False)
class _BuiltColumns:
    """The columns of one state of the log, and how long and when they were built."""

    state: object
    log: _LogColumns
    build_s: float
    built_at_s: float


# ---- columns computed from the names of runs, to group runs by
# The page does the same in web/src/lib/grouping.ts and run-colors.ts for logs whose runs it has.

_LINE_BREAKS = re.compile(r"[\r\n]")
_SPLIT_SUFFIX = re.compile(
    r"(?:^|[/_.-])(train|training|val|valid|validation|eval|evaluation|test)$", re.IGNORECASE
)
_SPLITS = ("train", "val", "eval", "test")
_SPLIT_NAMES = {"val": "validation", "eval": "evaluation"}


def list_path_parts(names: Sequence[str], part: str) -> list[str | None]:
    """Return part ``part`` of each name, counted from 1.

    The last part is the run itself; it counts only in names without a slash.
    """
    if not part.isdecimal() or not 1 <= int(part) <= 99:
        raise UsageError("runs.bad_path_part", 'there is no part "{part}" of a path', part=part)
    index = int(part) - 1
    found: list[str | None] = []
    for name in names:
        parts = name.split("/")
        found.append(parts[index] if index < max(1, len(parts) - 1) else None)
    return found


def list_captures(names: Sequence[str], pattern: str) -> list[str | None]:
    """Return what a regular expression captures in each name; empty captures count as none."""
    lines = "\n".join(_LINE_BREAKS.sub(" ", name) for name in names)
    return [capture or None for capture in capture_lines(pattern, lines)] if names else []


def list_splits(names: Sequence[str], _: str = "") -> list[str | None]:
    """Return which data each run is about by the end of its name: ``train``, ``validation``, …"""
    return [_find_split(name) for name in names]


def _find_split(name: str) -> str | None:
    match = _SPLIT_SUFFIX.search(name)
    if match is None:
        return None
    word = next(split for split in _SPLITS if match[1].lower().startswith(split))
    return _SPLIT_NAMES.get(word, word)


def get_common_folder(names: Sequence[str]) -> str:
    """Return the longest folder, with its slash, that all names are in; empty if there is none."""
    if not names:
        return ""
    first, last = min(names), max(names)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[: first[:length].rfind("/") + 1]


#: By the first part of their keys, such as ``path:1`` and ``re:seed(.)``.
NAME_COLUMNS: Mapping[str, Callable[[Sequence[str], str], Sequence[str | None]]] = {
    "path": list_path_parts,
    "re": list_captures,
    "split": list_splits,
}
