"""Groups of points as jobs, and what they are called."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tracklight.dashboards.projector.answers import ClusterRow, ClustersAnswer, JobRow
from tracklight.dashboards.projector.asks import ClusterAsk, Kmeans
from tracklight.dashboards.projector.desk import Desk, Plan, tell
from tracklight.dashboards.projector.library import Library
from tracklight.dashboards.projector.opened import Opened
from tracklight.embeddings.columns import find_label
from tracklight.embeddings.naming import name_groups
from tracklight.projections.hdbscan import find_dense
from tracklight.projections.jobs import make_key
from tracklight.projections.kmeans import find_kmeans
from tracklight.projections.work import Work
from tracklight.types import Float32, Int32

#: What is seen of a layout.
_MOST_AXES = 3
_CENTRAL = 3


class Clusters:
    """Starts looking for groups, and tells of those that were found."""

    def __init__(self, library: Library, desk: Desk) -> None:
        self._library = library
        self._desk = desk

    def start(self, ask: ClusterAsk) -> JobRow:
        found = self._library.find(ask)
        opened = self._library.open(found)
        plan = Plan(found, opened.choose(ask.rows), ask.spherize, words=ask.words)
        if ask.words is not None:
            opened.get_column(ask.words)
        places = None if ask.on is None else self._find_places(plan, ask.on)
        method, seed = ask.method, ask.seed

        def compute(work: Work) -> Float32:
            points = opened.take(plan.rows, plan.spherize) if places is None else places
            if isinstance(method, Kmeans):
                groups = find_kmeans(points, method.count, seed, work)
            else:
                groups = find_dense(points, method.min_size, seed, work)
            return groups.astype(np.float32)[:, None]

        key = make_key(found.mark, method, ask.rows, ask.on, ask.spherize, seed, ask.words)
        return self._desk.start(key, plan, compute)

    def tell(self, key: str) -> ClustersAnswer:
        job, plan = self._desk.get(key)
        opened = self._library.open(plan.found)
        groups = np.full(opened.rows, -1, np.int32)
        if job.result is None:
            return ClustersAnswer(tell(job, plan), groups, [])
        rows = np.arange(opened.rows) if plan.rows is None else plan.rows
        groups[rows] = job.result[:, 0].astype(np.int32)
        return ClustersAnswer(tell(job, plan), groups, _tell(opened, groups, plan.words))

    def _find_places(self, plan: Plan, key: str) -> Float32:
        """Where the points are in a layout; only those that it has are looked at."""
        layout, shown = self._desk.get_layout(key)
        layout = layout[:, :_MOST_AXES]
        if shown.rows is None:
            return np.ascontiguousarray(layout if plan.rows is None else layout[plan.rows])
        if plan.rows is None:
            plan.rows = shown.rows
            return np.ascontiguousarray(layout)
        plan.rows, _, places = np.intersect1d(plan.rows, shown.rows, return_indices=True)
        return np.ascontiguousarray(layout[places])


def _tell(opened: Opened, groups: Int32, words: str | None) -> list[ClusterRow]:
    count = int(groups.max(initial=-1)) + 1
    columns = opened.columns if words is None else [opened.get_column(words)]
    names = name_groups(groups, columns, _find_central(opened, groups, count))
    sizes = np.bincount(groups[groups >= 0], minlength=count)
    seen: Counter[str] = Counter()
    rows = []
    for place, some in enumerate(names):
        name = ", ".join(some) or f"group {place + 1}"
        seen[name] += 1
        title = name if seen[name] == 1 else f"{name} ({seen[name]})"
        rows.append(ClusterRow(title, int(sizes[place]), some))
    return rows


def _find_central(opened: Opened, groups: Int32, count: int) -> list[list[str]]:
    """Of each group the labels of the points that are nearest to its middle."""
    label = find_label(opened.columns)
    if label is None:
        return [[] for _ in range(count)]
    column = opened.get_column(label)
    central = []
    for group in range(count):
        rows = np.flatnonzero(groups == group)
        vectors = opened.vectors.values[rows]
        apart = vectors - vectors.mean(axis=0)
        nearest = np.argsort(np.einsum("ij,ij->i", apart, apart))
        texts = (column.get_text(int(rows[place])) for place in nearest[: 10 * _CENTRAL])
        central.append(list(dict.fromkeys(text for text in texts if text))[:_CENTRAL])
    return central
