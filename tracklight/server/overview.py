"""The tags of all runs as one list, kept until the index changes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tracklight.errors import UnknownRun
from tracklight.server.source import Source
from tracklight.server.wire import TagRow, stamp_row
from tracklight.types import Kind, Progress, Stamp, TagInfo


@dataclass
class SharedTag:
    """One tag over all runs that have it."""

    tag: str
    plugin: str
    kind: Kind
    runs: list[str] = field(default_factory=list)
    count: int = 0
    overwritten: int = 0
    first: Stamp | None = None
    last: Stamp | None = None
    display_name: str = ""
    description: str = ""

    def add(self, run: str, info: TagInfo) -> None:
        self.runs.append(run)
        self.count += info.count
        self.overwritten += info.overwritten
        self.first = min(_both(self.first, info.first), key=_step, default=None)
        self.last = max(_both(self.last, info.last), key=_step, default=None)
        self.plugin = self.plugin or info.plugin
        self.display_name = self.display_name or info.display_name
        self.description = self.description or info.description

    def row(self) -> TagRow:
        return TagRow(
            tag=self.tag,
            plugin=self.plugin,
            kind=str(self.kind),
            runs=len(self.runs),
            count=self.count,
            overwritten=self.overwritten,
            first=stamp_row(self.first),
            last=stamp_row(self.last),
            display_name=self.display_name,
            description=self.description,
        )


class Overview:
    """Answers for all runs at once; merging is done once for each state of the index."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._state: tuple[int, Progress] | None = None
        self._tags: dict[tuple[str, Kind], SharedTag] = {}

    def tags(self) -> Iterable[SharedTag]:
        return self._current().values()

    def runs_with_scalar(self, tag: str) -> list[str]:
        """Names of the runs that have a scalar called ``tag``, in the order of the list of runs."""
        shared = self._current().get((tag, Kind.SCALAR))
        return shared.runs if shared else []

    def _current(self) -> dict[tuple[str, Kind], SharedTag]:
        with self._lock:
            # The version grows at the end of a refresh, but runs do so all the while.
            state = self._source.version, self._source.progress
            if state != self._state:
                self._tags = _merge(self._source)
                self._state = state
            return self._tags


def tags_of(source: Source, run: str) -> list[TagRow]:
    """The tags of one run, in the form in which those of all runs come."""
    rows = []
    for info in source.tags(run):
        shared = SharedTag(info.tag, info.plugin, info.kind)
        shared.add(run, info)
        rows.append(shared.row())
    return rows


def _merge(source: Source) -> dict[tuple[str, Kind], SharedTag]:
    tags: dict[tuple[str, Kind], SharedTag] = {}
    for run in source.runs():
        for info in _iter_tags(source, run.name):
            key = info.tag, info.kind
            shared = tags.get(key)
            if shared is None:
                shared = tags[key] = SharedTag(info.tag, info.plugin, info.kind)
            shared.add(run.name, info)
    return tags


def _iter_tags(source: Source, run: str) -> Iterator[TagInfo]:
    try:
        yield from source.tags(run)
    except UnknownRun:
        # The run was removed after it was listed; the next version will not list it.
        return


def _both(one: Stamp | None, other: Stamp | None) -> Iterator[Stamp]:
    return (stamp for stamp in (one, other) if stamp is not None)


def _step(stamp: Stamp) -> int:
    return stamp.step
