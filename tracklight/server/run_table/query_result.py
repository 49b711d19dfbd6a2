"""Which runs match a `RunQuery`, in which order and groups, and which of them are selected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tracklight.analysis.experiments.hparam_columns import CellState
from tracklight.analysis.source import RunQuery, RunSelection
from tracklight.formats.hparams import HParamValue
from tracklight.server.run_table.filter_expression import format_number
from tracklight.server.run_table.queries import (
    Groups,
    SortKey,
    group_rows,
    select_rows,
    sort_rows,
)
from tracklight.server.run_table.table import RunTable
from tracklight.types import Bool, Int64

#: Marks the name of a group in a selection: the name of no run begins with it.
_GROUP_MARK = "/"


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
