"""Last, lowest and highest value of a metric in every run, worked out again only where it grew."""

from __future__ import annotations

import threading

from tracklight.server.overview import Overview
from tracklight.server.source import Source
from tracklight.server.wire import RunRow
from tracklight.types import Digest
from tracklight.util.lru_cache import LruCache

#: Metrics that are remembered; each takes about 2 MB for 10,000 runs.
_MOST_TAGS = 32

#: Last, lowest, highest.
Values = tuple[float | None, float | None, float | None]


class RunDigests:
    """Remembers the latest metrics that were asked for, run by run."""

    def __init__(self, source: Source, overview: Overview) -> None:
        self._source = source
        self._overview = overview
        self._lock = threading.Lock()
        self._known: LruCache[str, dict[str, tuple[RunRow, Values]]] = LruCache(
            max_items=_MOST_TAGS
        )

    def read(self, tag: str) -> dict[str, Values]:
        """For every run that has the scalar ``tag``."""
        with self._lock:
            known = self._refresh(tag)
            self._known.put(tag, known)
        return {run: values for run, (_, values) in known.items()}

    def _refresh(self, tag: str) -> dict[str, tuple[RunRow, Values]]:
        rows = self._overview.runs()
        before = self._known.find(tag) or {}
        runs = [run for run in self._overview.runs_with_scalar(tag) if run in rows]
        # A run's row tells of its bytes and points: where it is the same, so are the values.
        grown = [run for run in runs if run not in before or before[run][0] != rows[run]]
        digests = self._source.digests([(run, tag) for run in grown])
        news = {
            run: (rows[run], _values(digest))
            for run, digest in zip(grown, digests, strict=True)
            if digest is not None
        }
        known = before | news
        return {run: known[run] for run in runs if run in known}


def _values(digest: Digest) -> Values:
    last, low, high = (
        None if point is None else point.value for point in (digest.last, digest.low, digest.high)
    )
    return last, low, high
