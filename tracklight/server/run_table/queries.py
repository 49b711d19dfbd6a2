"""Filter, sort and group the table of runs, take a page of rows, or write all of them to a file.

`QueryResult` has the runs that a `RunQuery` describes: which match, in which order and groups, and
which of them are selected.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tracklight.analysis.experiments.columns import CellState, format_number
from tracklight.analysis.source import RunQuery, RunSelection
from tracklight.errors import import_optional
from tracklight.formats.hparams import HParamValue
from tracklight.plugin import Blob
from tracklight.server.run_table.filter_expression import evaluate_filter
from tracklight.server.run_table.table import PLAIN_KEYS, RunTable, TableColumn
from tracklight.types import Bool, Float64, Int64, to_datetimes
from tracklight.util.frames import ExportCell, ExportTable, format_iso_time, write_table

Aggregate = Literal["mean", "median", "min", "max", "sum"]

_GROUP_SEPARATOR = "\x1f"
#: Marks the name of a group in a selection: the name of no run begins with it.
_GROUP_MARK = "/"


@dataclass(frozen=True)
class SortKey:
    """A column to sort by, written ``KEY`` or ``-KEY`` in requests."""

    key: str
    descending: bool = False

    @classmethod
    def parse(cls, text: str) -> SortKey:
        return cls(text.removeprefix("-"), text.startswith("-"))


def select_rows(table: RunTable, expression: str, show_hidden: bool) -> Int64:
    """Return the runs that match a filter, in natural order.

    Raises:
        ExpressionError: The filter is not valid.
    """
    mask = evaluate_filter(expression, table)
    if not show_hidden:
        mask &= table.get_column("hidden").values == 0
    return np.flatnonzero(mask)


def sort_rows(table: RunTable, rows: Int64, sort: Sequence[SortKey]) -> Int64:
    """Return rows in order: pinned ones first, then by the keys, then by name."""
    if not len(rows):
        return rows
    keys: list[Float64] = []
    for sort_key in reversed(sort):
        keys += _make_sort_keys(table.get_column(sort_key.key), rows, sort_key.descending)
    keys.append(-table.get_column("pinned").values[rows])
    return rows[np.lexsort(keys)]


def _make_sort_keys(column: TableColumn, rows: Int64, descending: bool) -> list[Float64]:
    """Return keys for `numpy.lexsort`, the most significant last. Missing values come last."""
    values = column.values[rows]
    order = -values if descending else values
    if column.states is None:
        return [order]  # NumPy sorts NaN to the end
    states = column.states[rows]
    rank = np.zeros(len(rows))
    rank[states == CellState.BOOL] = 1
    rank[states == CellState.TEXT] = 2
    rank[states == CellState.MISSING] = 3
    return [np.where(states == CellState.MISSING, 0.0, order), rank]


# ---- groups


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows with the same values in some columns."""

    ids: list[str]
    """Identifies each group in requests."""
    labels: list[list[HParamValue | None]]
    """The values of each group, one for each column that the rows are grouped by."""
    members: list[Int64]
    """The rows of each group, in the order of the table."""


def group_rows(
    table: RunTable, rows: Int64, group_by: Sequence[str], sort: Sequence[SortKey], how: Aggregate
) -> Groups:
    """Group sorted rows, and sort the groups by the aggregates of the sort keys."""
    columns = [table.get_column(key) for key in group_by]
    codes = np.zeros(len(rows), np.int64)
    for column in columns:
        distinct, own = np.unique(_encode_values(column, rows), return_inverse=True)
        # Numbering the combinations again keeps them small, however many columns there are.
        codes = np.unique(codes * len(distinct) + own.reshape(-1), return_inverse=True)[1]
        codes = codes.reshape(-1)
    _, first, group_of = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(group_of, kind="stable")
    starts = np.searchsorted(group_of[order], np.arange(len(first)))
    members = [rows[part] for part in np.split(order, starts[1:])]
    positions = _sort_groups(table, members, columns, rows[first], sort, how)
    labels = [[column.get_value(int(rows[first[at]])) for column in columns] for at in positions]
    ids = [_GROUP_SEPARATOR.join(map(_format_label, label)) for label in labels]
    return Groups(ids, labels, [members[at] for at in positions])


def _encode_values(column: TableColumn, rows: Int64) -> Float64:
    """Return a number for each row that is the same for equal values; missing ones are equal."""
    values = column.values[rows]
    codes = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.float64)
    if column.states is None:
        return codes
    states = column.states[rows]
    codes = np.where(states == CellState.MISSING, 0.0, codes)
    return codes + states.astype(np.float64) * (len(values) + 1)


def _sort_groups(
    table: RunTable,
    members: Sequence[Int64],
    columns: Sequence[TableColumn],
    first: Int64,
    sort: Sequence[SortKey],
    how: Aggregate,
) -> list[int]:
    """Return the order of groups: by aggregates of sorted numbers, then by the groups' values."""
    keys: list[Float64] = []
    for column in reversed(columns):
        keys += _make_sort_keys(column, first, False)
    for sort_key in reversed(sort):
        column = table.get_column(sort_key.key)
        if any(column is own for own in columns):
            keys += _make_sort_keys(column, first, sort_key.descending)
        elif column.kind not in _TEXT_KINDS:
            numbers = aggregate_column(column, members, how)
            keys.append(-numbers if sort_key.descending else numbers)
    return [int(at) for at in np.lexsort(keys)]


_TEXT_KINDS = ("text", "labels", "state", "mixed")


def aggregate_column(column: TableColumn, groups: Sequence[Int64], how: Aggregate) -> Float64:
    """Return one number for each group of rows; NaN for groups without a finite number."""
    sizes = [len(group) for group in groups]
    rows = np.concatenate(groups) if groups else np.zeros(0, np.int64)
    group_of = np.repeat(np.arange(len(groups)), sizes)
    values = column.values[rows]
    is_used = np.isfinite(values)
    if column.states is not None:
        states = column.states[rows]
        is_used &= (states == CellState.NUMBER) | (states == CellState.BOOL)
    values, group_of = values[is_used], group_of[is_used]
    result = np.full(len(groups), np.nan)
    if not len(values):
        return result
    if how == "median":
        order = np.lexsort((values, group_of))
    else:
        order = np.arange(len(values))  # groups are contiguous
    present, starts, counts = np.unique(group_of[order], return_index=True, return_counts=True)
    ordered = values[order]
    if how == "median":
        low, high = starts + (counts - 1) // 2, starts + counts // 2
        result[present] = (ordered[low] + ordered[high]) / 2
    elif how in ("min", "max"):
        reduce = np.minimum if how == "min" else np.maximum
        result[present] = reduce.reduceat(ordered, starts)
    else:
        sums = np.add.reduceat(ordered, starts)
        result[present] = sums / counts if how == "mean" else sums
    return result


def summarize_texts(column: TableColumn, rows: Int64) -> tuple[HParamValue | None, int]:
    """Return the value that all rows have, or None, and the number of distinct values."""
    if column.states is not None:
        rows = rows[column.states[rows] != CellState.MISSING]
    if not len(rows):
        return None, 0
    values = column.values[rows]
    if column.kind in ("text", "labels", "state"):  # small numbers: counting beats sorting
        distinct = int(np.count_nonzero(np.bincount(values.astype(np.int64))))
    else:
        distinct = len(np.unique(values))
    return (column.get_value(int(rows[0])) if distinct == 1 else None), distinct


def _format_label(label: HParamValue | None) -> str:
    return f"{type(label).__name__}:{label}"


# ---- pages


@dataclass(frozen=True)
class PageRow:
    """A row of a page: a run, or the header of a group."""

    run: int | None
    group: int | None


def take_page(
    groups: Groups, expanded: frozenset[str], offset: int, limit: int
) -> tuple[list[PageRow], int]:
    """Return some rows of a list of groups with the runs of expanded groups, and its length."""
    page: list[PageRow] = []
    at = 0
    for number, (id, members) in enumerate(zip(groups.ids, groups.members, strict=True)):
        runs = members if id in expanded else members[:0]
        if offset <= at < offset + limit:
            page.append(PageRow(None, number))
        at += 1
        low, high = max(0, offset - at), min(len(runs), offset + limit - at)
        if high > low:
            page += [PageRow(run, number) for run in runs[low:high].tolist()]
        at += len(runs)
    return page, at


# ---- which runs a query describes


@dataclass(frozen=True, eq=False)
class QueryResult:
    """The rows of a table that match a query, and which of them are selected."""

    table: RunTable
    query: RunQuery

    @classmethod
    def compute(cls, table: RunTable, query: RunQuery) -> QueryResult:
        """Return the result of a query, with everything that every request needs."""
        result = cls(table, query)
        assert len(result.is_selected) == len(table)
        return result

    @cached_property
    def groups(self) -> Groups | None:
        key = self.query.group_by
        if not key:
            return None
        sort = self._sort
        if sort and sort[0].key == "name":  # groups are sorted by their own names
            sort = [SortKey(key, sort[0].descending)]
        return group_rows(self.table, self._matching, [key], sort, "mean")

    @cached_property
    def keys(self) -> list[str]:
        """The keys of the groups, in the order of the list."""
        return [] if self.groups is None else [_make_key(label) for (label,) in self.groups.labels]

    @cached_property
    def ordered(self) -> Int64:
        """The matching rows, in the order of the list."""
        if self.groups is None:
            return self._matching
        return np.concatenate([np.zeros(0, np.int64), *self.groups.members])

    @cached_property
    def is_selected(self) -> Bool:
        """Which rows of the table are selected, if they match."""
        mask: Bool = self.is_selected_by_rule.copy()
        selection = self.query.selection
        for names, value in ((selection.on, True), (selection.off, False)):
            for name in names:
                row = self.table.find_row(name)
                if row is not None:
                    mask[row] = value
        return mask

    @cached_property
    def selected(self) -> Int64:
        """The selected rows, sorted but not grouped."""
        rows: Int64 = self._matching[self.is_selected[self._matching]]
        return rows

    def arrange(self, rows: Int64) -> Int64:
        """Return sorted rows in the order of their groups."""
        arranged: Int64 = rows[np.argsort(self.group_of[rows], kind="stable")]
        return arranged

    def list_selected_groups(self) -> list[int]:
        """Return the numbers of the groups with selected runs."""
        members = [] if self.groups is None else self.groups.members
        return [at for at, rows in enumerate(members) if self.is_selected[rows].any()]

    def select(self, group: str | None, split: str | None) -> Int64:
        """Return the selected rows, those of one group or split only, in natural order."""
        mask = np.zeros(len(self.table), np.bool_)
        if group is None:
            mask[self.ordered] = True
        elif self.groups is not None:
            for key, members in zip(self.keys, self.groups.members, strict=True):
                if key == group:
                    mask[members] = True
        mask &= self.is_selected
        if split is not None:
            mask &= self._is_split(split)
        return np.flatnonzero(mask)

    @cached_property
    def _sort(self) -> list[SortKey]:
        return [SortKey.parse(text) for text in self.query.sort]

    @cached_property
    def _matching(self) -> Int64:
        rows = select_rows(self.table, self.query.filter, self.query.show_hidden)
        return sort_rows(self.table, rows, self._sort)

    @cached_property
    def group_of(self) -> Int64:
        """The number of the group of each row of the table."""
        numbers = np.zeros(len(self.table), np.int64)
        if self.groups is not None:
            for number, members in enumerate(self.groups.members):
                numbers[members] = number
        return numbers

    @cached_property
    def positions(self) -> dict[str, int]:
        """Positions of all groups in natural order, which the filter does not change."""
        everything = np.arange(len(self.table))
        groups = group_rows(self.table, everything, [self.query.group_by], [], "mean")
        keys = [_make_key(label) for (label,) in groups.labels]
        return {key: at for at, key in enumerate(keys)}

    @cached_property
    def is_selected_by_rule(self) -> Bool:
        selection = self.query.selection
        mask = np.zeros(len(self.table), np.bool_)
        mask[self._take_newest(selection)] = True
        if self.groups is not None:
            for names, value in ((selection.on, True), (selection.off, False)):
                chosen = {name[1:] for name in names if name.startswith(_GROUP_MARK)}
                for key, members in zip(self.keys, self.groups.members, strict=True):
                    if key in chosen:
                        mask[members] = value
        return mask

    def _take_newest(self, selection: RunSelection) -> Int64:
        rows = self._matching
        if selection.newest is None or len(rows) <= selection.all_up_to:
            return rows
        # By start, then in natural order; runs without a start come last.
        natural = np.sort(rows)
        starts = self.table.get_column("start").values[natural]
        newest: Int64 = natural[np.argsort(-starts, kind="stable")[: selection.newest]]
        return newest

    def _is_split(self, split: str) -> Bool:
        column = self.table.get_column("split")
        texts = [*column.categories, ""]
        codes = np.where(column.is_missing(), len(texts) - 1, column.values).astype(np.int64)
        return np.array([text == split for text in texts])[codes]

    def list_splits(self, rows: Int64) -> list[str]:
        if not len(rows):
            return []
        column = self.table.get_column("split")
        missing = column.is_missing()[rows]
        codes = np.unique(column.values[rows][~missing].astype(np.int64))
        return [*([""] if missing.any() else []), *(column.categories[code] for code in codes)]

    def compute_stats(self, rows: Int64) -> tuple[int, float | None, float | None]:
        """Return number, mean and standard deviation of the column that the list is sorted by."""
        key = self._sort[0].key if self._sort else "name"
        column = self.table.get_column(key)
        if column.kind not in ("number", "time", "duration", "bytes", "mixed"):
            return 0, None, None
        values = column.values[rows]
        is_used = np.isfinite(values)
        if column.states is not None:
            is_used &= column.states[rows] == CellState.NUMBER
        values = values[is_used]
        if not len(values):
            return 0, None, None
        std = float(values.std(ddof=1)) if len(values) > 1 else None
        return len(values), float(values.mean()), std


def _make_key(label: HParamValue | None) -> str:
    """Return the text that identifies a group in URLs and selections."""
    if label is None:
        return ""
    if isinstance(label, bool):
        return "true" if label else "false"
    return format_number(label) if isinstance(label, float) else str(label)


# ---- files

_FILE_NAME = "runs"


def export_table(
    table: RunTable,
    rows: Int64,
    keys: Sequence[str],
    file_format: Literal["csv", "json", "parquet"],
) -> Blob:
    """Return some rows as a file.

    Args:
        table: The table.
        rows: The rows, in their order.
        keys: Keys of columns; empty for all columns that have values.
        file_format: Parquet keeps the types of columns.

    Raises:
        MissingDependencyError: The format is Parquet, and pyarrow is not installed.
    """
    columns = [table.get_column(key) for key in keys or _list_keys(table, rows)]
    if file_format == "parquet":
        return _write_parquet(columns, rows)
    cells = [_list_cells(column, rows) for column in columns]
    lines = [list(line) for line in zip(*cells, strict=True)]
    exported = ExportTable([item.key for item in columns], lines)
    return Blob(*write_table(exported, file_format, _FILE_NAME))


def _list_keys(table: RunTable, rows: Int64) -> list[str]:
    keys = [*PLAIN_KEYS, *(f"hparam:{name}" for name in table.list_hparams())]
    keys += [f"last:{tag}" for tag in table.list_metrics()]
    return [
        key for key in keys if key == "name" or not table.get_column(key).is_missing()[rows].all()
    ]


def _list_cells(column: TableColumn, rows: Int64) -> list[ExportCell]:
    cells = column.take_cells(rows)
    if column.kind != "time":
        return cells
    return [None if cell is None else format_iso_time(float(cell)) for cell in cells]


def _write_parquet(columns: Sequence[TableColumn], rows: Int64) -> Blob:
    parquet = import_optional("pyarrow.parquet", "export to Parquet", "parquet")
    pa = importlib.import_module("pyarrow")
    table = pa.table({column.key: _make_array(pa, column, rows) for column in columns})
    file = io.BytesIO()
    parquet.write_table(table, file)
    return Blob(file.getvalue(), "application/vnd.apache.parquet", f"{_FILE_NAME}.parquet")


def _make_array(pa: Any, column: TableColumn, rows: Int64) -> Any:
    values = column.values[rows]
    is_missing = column.is_missing()[rows]
    if column.kind == "time":
        return pa.array(to_datetimes(values), pa.timestamp("us", "UTC"), mask=is_missing)
    if column.kind == "bool":
        return pa.array(values == 1, mask=is_missing)
    if column.kind == "labels":
        items = column.list_items()
        codes = np.where(is_missing, 0, values).astype(np.int64).tolist()
        lists = [
            [] if missing else list(items[code])
            for code, missing in zip(codes, is_missing.tolist(), strict=True)
        ]
        return pa.array(lists, pa.list_(pa.string()))
    if column.kind in ("number", "duration", "bytes"):
        return pa.array(values, mask=is_missing)
    texts = [None if cell is None else str(cell) for cell in column.take_cells(rows)]
    return pa.array(texts, pa.string())
