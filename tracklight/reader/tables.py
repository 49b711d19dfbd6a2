"""What a log returns: tables of scalars, `Values`, which are decoded on access, and changes.

`Table` and `WideTable` are returned by `Log.scalars`. `Values` are the images, texts, histograms or
tensors of one tag. `LogChanges` are the changes between two refreshes of a log, down to the new
points of every series. Runs and tags are selected by name, glob or regular expression.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import (
    FormatError,
    LogError,
    NoMatchWarning,
    TracklightError,
    UsageError,
    list_similar_names,
)
from tracklight.index.catalog import Catalog
from tracklight.logdir import REGEX_PREFIX, compile_glob, compile_pattern, is_plain_name
from tracklight.types import Bool, Float64, Int64, Kind, RunInfo, Series, TagInfo, ValueLocations
from tracklight.util import html
from tracklight.util.frames import CategoryColumn, Column, Frame, TimeColumn


def check_one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise UsageError if the value of an argument is not allowed."""
    if value not in allowed:
        options = ", ".join(f'"{option}"' for option in allowed)
        raise UsageError(f'{name}="{value}" is not one of {options}')


WideColumns = Literal["tag", "run", "run/tag"]


class Table(Frame):
    """Points of many series, one row per point.

    The columns are ``run``, ``tag``, ``step``, ``wall_time`` and ``value``, and ``overwritten`` if
    overwritten points are included.

    Example:
        >>> table = log.scalars(run="resnet/*", tag="loss")
        >>> table.columns
        ('run', 'tag', 'step', 'wall_time', 'value')
        >>> table["value"].min(), len(table)
        (0.031, 2000)
    """

    _noun = "point"

    def __init__(self, series: Sequence[Series], *, overwritten: bool = False) -> None:
        lengths = [len(item) for item in series]
        columns: dict[str, Column] = {
            "run": CategoryColumn.repeat([item.run for item in series], lengths),
            "tag": CategoryColumn.repeat([item.tag for item in series], lengths),
            "step": _join([item.step for item in series], np.int64),
            "wall_time": TimeColumn(_join([item.wall_time for item in series], np.float64)),
            "value": _join_values([item.value for item in series]),
        }
        if overwritten:
            columns["overwritten"] = _join([item.overwritten for item in series], np.bool_)
        super().__init__(columns)
        self._series = tuple(series)

    def to_wide(self, columns: WideColumns = "tag") -> WideTable:
        """Pivot to one row per step, with a column per tag, per run, or per run and tag.

        Overwritten points are left out. Steps at which a series has no value are NaN. If several
        writers logged the same step of one series, the value written last is used.

        Args:
            columns: ``"tag"`` gives a row per run and step with one column per tag;
                ``"run/tag"`` gives a row per step with one column per series, named
                ``<run>/<tag>``; ``"run"`` does so for a single tag, with the bare run names.

        Returns:
            A table that converts to pandas, Polars and Arrow like this one.

        Raises:
            UsageError: ``columns="run"`` was given for a table of several tags.

        Example:
            >>> log.scalars(run="resnet/train").to_wide().to_pandas()[["loss", "accuracy"]].plot()
        """
        check_one_of("columns", columns, ("tag", "run", "run/tag"))
        series = [item.without_overwritten() for item in self._series]
        tags = list(dict.fromkeys(item.tag for item in series))
        if columns == "run" and len(tags) > 1:
            raise UsageError(
                f'columns="run" needs a table of one tag, and this one has {len(tags):,}; '
                'use columns="run/tag"'
            )
        labels = {
            "tag": [item.tag for item in series],
            "run": [item.run for item in series],
            "run/tag": _name_series(series),
        }[columns]
        return _pivot(series, labels, by_run=columns == "tag")


class WideTable(Frame):
    """Scalars with one row per step, or per run and step, and one column per series or tag.

    In pandas the columns ``run`` and ``step`` are the index, so that ``plot()`` works directly.

    Example:
        >>> log.scalars(run="resnet/*").to_wide().columns
        ('run', 'step', 'loss', 'accuracy')
    """


def _pivot(series: Sequence[Series], labels: Sequence[str], *, by_run: bool) -> WideTable:
    lengths = [len(item) for item in series]
    all_steps = _join([item.step for item in series], np.int64)
    steps, step_codes = np.unique(all_steps, return_inverse=True)
    runs = CategoryColumn.repeat([item.run for item in series], lengths)
    keys = step_codes.reshape(-1)
    if by_run:
        keys = runs.codes.astype(np.int64) * max(len(steps), 1) + keys
    rows, row_of = np.unique(keys, return_inverse=True)
    row_of = row_of.reshape(-1)
    index: dict[str, Column] = {}
    if by_run:
        index["run"] = CategoryColumn(
            runs.categories, (rows // max(len(steps), 1)).astype(np.int32)
        )
        rows = rows % max(len(steps), 1)
    index["step"] = steps[rows] if len(rows) else np.empty(0, np.int64)
    cells = _fill(series, labels, row_of, len(rows))
    named = {f"{name} (tag)" if name in index else name: cell for name, cell in cells.items()}
    return WideTable({**index, **named}, index=tuple(index))


def _fill(
    series: Sequence[Series], labels: Sequence[str], row_of: Int64, rows: int
) -> dict[str, NDArray[Any]]:
    """Return one column per label; integers stay integers where no row is missing."""
    parts_by_label: dict[str, list[tuple[Int64, NDArray[Any]]]] = {}
    bounds = pairwise(accumulate((len(item) for item in series), initial=0))
    for label, item, (start, stop) in zip(labels, series, bounds, strict=True):
        parts_by_label.setdefault(label, []).append((row_of[start:stop], item.value))
    cells: dict[str, NDArray[Any]] = {}
    for label, parts in parts_by_label.items():
        values = _join_values([value for _, value in parts])
        where = np.concatenate([rows_of for rows_of, _ in parts])
        is_full = len(np.unique(where)) == rows
        cell = np.zeros(rows, values.dtype) if is_full else np.full(rows, np.nan)
        cell[where] = values
        cells[label] = cell
    return cells


def _name_series(series: Sequence[Series]) -> list[str]:
    """Return ``run/tag``, or ``run: tag`` where that is ambiguous: ``a/b/c`` has two readings."""
    names = [f"{item.run}/{item.tag}" for item in series]
    counts = Counter(names)
    pairs = zip(series, names, strict=True)
    return [name if counts[name] == 1 else f"{item.run}: {item.tag}" for item, name in pairs]


def _join(columns: Sequence[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(columns) if columns else np.empty(0, kind)


def _join_values(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join columns of values; they become float64 unless all have the same type."""
    columns = [column for column in columns if len(column)]
    kind = np.float64 if len({column.dtype for column in columns}) != 1 else columns[0].dtype.type
    return _join([column.astype(kind, copy=False) for column in columns], kind)


# ---- selection of runs and tags

NamePattern = str | re.Pattern[str]

#: A name, a glob, ``re:REGEX``, a compiled regular expression, several of these, or None for all.
NameFilter = NamePattern | Iterable[NamePattern] | None

_MAX_NAMED = 3
_PACKAGE = str(Path(__file__).parent.parent) + os.sep


def select_names(
    name_filter: NameFilter,
    names: Iterable[str],
    make_error: Callable[[str], TracklightError],
    on_no_match: Callable[[str], None] = lambda pattern: None,
) -> tuple[str, ...]:
    """Return the selected names, in the order of ``names``.

    A regular expression may match anywhere in a name; a glob must match all of it.

    Args:
        name_filter: Which names to select; None selects all.
        names: The names to select from.
        make_error: Creates the error for a plain name that does not exist.
        on_no_match: Called with each pattern that matches no name, which is not an error.
    """
    names = tuple(dict.fromkeys(names))
    if name_filter is None:
        return names
    patterns = [name_filter] if isinstance(name_filter, str | re.Pattern) else list(name_filter)
    known = frozenset(names)
    selected: set[str] = set()
    for pattern in patterns:
        if isinstance(pattern, str) and pattern in known:
            selected.add(pattern)
            continue
        matches = _compile(pattern, make_error)
        matching = [name for name in names if matches(name)]
        if not matching:
            on_no_match(pattern if isinstance(pattern, str) else pattern.pattern)
        selected.update(matching)
    return tuple(name for name in names if name in selected)


def _compile(
    pattern: NamePattern, make_error: Callable[[str], TracklightError]
) -> Callable[[str], object]:
    if isinstance(pattern, re.Pattern):
        return pattern.search
    if is_plain_name(pattern):
        raise make_error(pattern)
    return compile_pattern(pattern)


def warn_no_match(noun: str, pattern: str, known: Sequence[str]) -> None:
    """Warn that a pattern matches nothing, and suggest similar names."""
    warn_caller(f'No {noun} matches "{pattern}". {_suggest_names(noun, pattern, known)}')


def warn_caller(message: str) -> None:
    """Issue a NoMatchWarning that points at the calling line outside of this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, NoMatchWarning, stacklevel=level)


def _suggest_names(noun: str, pattern: str, known: Sequence[str]) -> str:
    if not known:
        return f"There are no {noun}s."
    deeper = re.sub(r"\*+", "**", pattern)
    if not pattern.startswith(REGEX_PREFIX) and deeper != pattern and "*" in pattern:
        match = compile_glob(deeper).fullmatch
        if any(match(name) for name in known):
            return f'"*" does not match "/"; did you mean "{deeper}"?'
    text = re.sub(r"[*?\[\]^$]+", "", pattern.removeprefix(REGEX_PREFIX))
    nearest = list_similar_names(text, known, limit=_MAX_NAMED, cutoff=0.3)
    if nearest:
        return f"Similar {noun}s: {_quote(nearest)}."
    more = ", …" if len(known) > _MAX_NAMED else ""
    return f"Known {noun}s: {_quote(known[:_MAX_NAMED])}{more}."


def _quote(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


# ---- values

Item = TypeVar("Item")

_MAX_HTML_VALUES = 3


class ValueRows(Protocol):
    """The steps and times of the values of one tag. The function that reads them knows the rest."""

    @property
    def run(self) -> str: ...
    @property
    def tag(self) -> str: ...
    @property
    def step(self) -> Int64: ...
    @property
    def wall_time(self) -> Float64: ...
    @property
    def overwritten(self) -> Bool: ...
    def write_order(self) -> Int64:
        """Return the row numbers in the order in which they were written."""


class LoggedRows:
    """The rows of one tag: scalar points in the index, then values located in event files."""

    def __init__(self, points: Series, others: ValueLocations) -> None:
        self.points = points
        self.located = others
        self.run, self.tag = others.run, others.tag
        self.step: Int64 = np.concatenate([points.step, others.step])
        self.wall_time: Float64 = np.concatenate([points.wall_time, others.wall_time])
        self.overwritten: Bool = np.concatenate([points.overwritten, others.overwritten])

    def write_order(self) -> Int64:
        """Return the write order. Points and located values are ordered by wall time."""
        if len(self.points) and len(self.located):
            return np.argsort(self.wall_time, kind="stable")
        return np.arange(len(self.step))

    def find_located_index(self, row: int) -> int | None:
        """Return the index of a row among the located values; None for a point."""
        return row - len(self.points) if row >= len(self.points) else None


class Values(Sequence[Item]):
    """The values of one tag of one run, in the order written.

    ``values[3]`` reads and decodes one value; ``values[-5:]`` reads nothing yet.

    Example:
        >>> images = log.images("train", "input")
        >>> images[-1].to_arrays()[0].shape
        (28, 28, 1)
        >>> images.step.tolist()
        [0, 100, 200]
    """

    def __init__(
        self, rows: ValueRows, read: Callable[[int], Item], selected: Int64 | None = None
    ) -> None:
        self._rows = rows
        self._read = read
        self._selected = rows.write_order() if selected is None else selected
        self.run, self.tag = rows.run, rows.tag
        self.step: Int64 = rows.step[self._selected]
        self.wall_time: Float64 = rows.wall_time[self._selected]
        self.overwritten: Bool = rows.overwritten[self._selected]

    def __len__(self) -> int:
        return len(self._selected)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Values[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Values[Item]:
        """Read a value, or select a part of the values without reading them.

        Raises:
            IndexError: There is no such value.
            FormatError: The value cannot be decoded.
        """
        if isinstance(index, slice):
            return Values(self._rows, self._read, self._selected[index])
        row = int(self._selected[index])
        try:
            return self._read(row)
        except FormatError as error:
            step = self._rows.step[row]
            raise FormatError(
                f'"{self.tag}" in run "{self.run}" at step {step}: {error}'
            ) from error

    def __repr__(self) -> str:
        count = html.format_count(len(self), "value")
        return f'<{count} of "{self.tag}" in run "{self.run}">'

    def _repr_html_(self) -> str:
        first = max(0, len(self) - _MAX_HTML_VALUES)
        rows = [
            (int(self.step[at]), html.format_time(float(self.wall_time[at])), self._preview(at))
            for at in range(first, len(self))
        ]
        return html.render_block(
            f"{self.tag} ({self.run}): {html.format_count(len(self), 'value')}",
            html.render_table(("step", "wall time", "value"), rows),
            html.render_note(f"showing the last {len(rows)}") if first else "",
        )

    def _preview(self, at: int) -> str:
        try:
            value = self[at]
        except TracklightError as error:
            return str(error)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return str(value.item())
        own = getattr(value, "_repr_html_", None)
        return html.Markup(own()) if own is not None else repr(value)

    def without_overwritten(self) -> Values[Item]:
        """Return the values that were not overwritten; their steps increase."""
        return Values(self._rows, self._read, self._selected[~self.overwritten])

    def at(self, step: int) -> Item:
        """Return the last value written for a step.

        Raises:
            LogError: No value was logged at this step.

        Example:
            >>> log.images("resnet/train", "input").at(2).to_arrays()[0].shape
            (28, 28, 1)
        """
        matching = np.flatnonzero(self.step == step)
        if not len(matching):
            raise LogError(f'"{self.tag}" in run "{self.run}" has no value at step {step}')
        return self[int(matching[-1])]


# ---- changes

Tags = Mapping[str, TagInfo]


@dataclass(frozen=True)
class LogChanges:
    """What has changed in a log since the last refresh.

    Attributes:
        added: New runs.
        removed: Runs that no longer exist.
        changed: Existing runs with new values, files or tags.
        new_tags: The new tags of each run.
        updated_tags: The tags of each run with new values of any kind, including new tags.
        points: The new scalar points, by run and tag.
    """

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    new_tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    updated_tags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    points: Mapping[tuple[str, str], Series] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.changed)

    def __repr__(self) -> str:
        points = sum(map(len, self.points.values()))
        counts = (
            f"{len(self.added)} added, {len(self.removed)} removed, {len(self.changed)} changed"
        )
        return f"<LogChanges: runs {counts}; {points:,} new points in {len(self.points):,} series>"


class ChangeTracker:
    """Compares a log with its state at the last call, run by run.

    Unchanged runs cost only a comparison of their run info. If a run has several event files, new
    points may be inserted before known ones (the file of another writer is listed first). The
    steps and times of its series are kept to find them.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._runs = {run.name: run for run in catalog.runs()}
        self._tags = {name: self._list_tags(name) for name in self._runs}
        self._known = {
            (name, tag): _KnownPoints.of(catalog.scalar(name, tag))
            for name, run in self._runs.items()
            if run.files > 1
            for tag, info in self._tags[name].items()
            if info.kind is Kind.SCALAR
        }

    def collect_changes(self) -> LogChanges:
        """Return the changes since the last call."""
        before, self._runs = self._runs, {run.name: run for run in self._catalog.runs()}
        added = tuple(name for name in self._runs if name not in before)
        removed = tuple(name for name in before if name not in self._runs)
        changed = tuple(
            name for name, run in self._runs.items() if name in before and run != before[name]
        )
        self._forget(removed)
        new_tags: dict[str, tuple[str, ...]] = {}
        updated: dict[str, tuple[str, ...]] = {}
        points: dict[tuple[str, str], Series] = {}
        for name in (*added, *changed):
            old = self._tags.get(name, {})
            now = self._tags[name] = self._list_tags(name)
            grown = [info for tag, info in now.items() if info != old.get(tag)]
            if fresh := tuple(tag for tag in now if tag not in old):
                new_tags[name] = fresh
            if grown:
                updated[name] = tuple(info.tag for info in grown)
            for info in grown:
                new = self._collect_points(self._runs[name], info, old.get(info.tag))
                if new is not None and len(new):
                    points[name, info.tag] = new
        return LogChanges(added, removed, changed, new_tags, updated, points)

    def _list_tags(self, run: str) -> dict[str, TagInfo]:
        try:
            return {info.tag: info for info in self._catalog.tags(run)}
        except LogError:  # removed since the runs were listed
            return {}

    def _forget(self, removed: tuple[str, ...]) -> None:
        for name in removed:
            for tag in self._tags.pop(name, {}):
                self._known.pop((name, tag), None)

    def _collect_points(self, run: RunInfo, info: TagInfo, old: TagInfo | None) -> Series | None:
        if info.kind is not Kind.SCALAR:
            return None
        key = (run.name, info.tag)
        try:
            series = self._catalog.scalar(*key)
        except LogError:
            return None
        known = self._known.pop(key, None)
        if run.files > 1:
            self._known[key] = _KnownPoints.of(series)
        if known is not None:
            return series[known.list_new(series)]
        return series if old is None else series[_count_known(series, old) :]


@dataclass(frozen=True)
class _KnownPoints:
    """Steps and wall times of the known points of a series."""

    step: Int64
    wall_time: Float64

    @classmethod
    def of(cls, series: Series) -> _KnownPoints:
        return cls(series.step, series.wall_time)

    def list_new(self, series: Series) -> Int64:
        """Return the indexes of points that are not known, wherever they are."""
        count = len(self.step)
        if np.array_equal(series.step[:count], self.step) and np.array_equal(
            series.wall_time[:count], self.wall_time, equal_nan=True
        ):
            return np.arange(count, len(series))
        keys = np.empty(count + len(series), [("step", np.int64), ("wall", np.int64)])
        keys["step"] = np.concatenate([self.step, series.step])
        keys["wall"] = np.concatenate([self.wall_time, series.wall_time]).view(np.int64)
        _, groups = np.unique(keys, return_inverse=True)
        groups = groups.reshape(-1)
        left = np.bincount(groups[:count], minlength=int(groups.max(initial=0)) + 1)
        order = np.argsort(groups[count:], kind="stable")
        sorted_groups = groups[count:][order]
        rank = np.arange(len(order)) - np.searchsorted(sorted_groups, sorted_groups)
        return np.sort(order[rank >= left[sorted_groups]])


def _count_known(series: Series, old: TagInfo) -> int:
    """Return how many points of a single-file series are known; 0 if the file was replaced."""
    count = old.count
    if not count or count > len(series) or old.last is None:
        return 0
    is_same = series.step[count - 1] == old.last.step and (
        series.wall_time[count - 1] == old.last.wall_time or np.isnan(old.last.wall_time)
    )
    return count if is_same else 0
