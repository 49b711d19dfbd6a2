"""The runs and the tags of all runs, put together once for each state of the index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tracklight.errors import UnknownRun
from tracklight.server.kept import Kept
from tracklight.server.source import Source
from tracklight.server.wire import RunRow, TagRow, run_row, stamp_row
from tracklight.types import Kind, Stamp, TagInfo


@dataclass(slots=True)
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
        first, last = info.first, info.last
        if first is not None and (self.first is None or first.step < self.first.step):
            self.first = first
        if last is not None and (self.last is None or last.step > self.last.step):
            self.last = last
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


SharedTags = dict[tuple[str, Kind], SharedTag]


class Overview:
    """What is asked for again and again by every open page."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rows = Kept(source, lambda: {run.name: run_row(run) for run in source.runs()})
        self._tags = Kept(source, lambda: _merge(source, self._rows.get()))

    def runs(self) -> dict[str, RunRow]:
        """All runs by name, in natural order; not to be changed."""
        return self._rows.get()

    def tags(self) -> Iterable[SharedTag]:
        return self._tags.get().values()

    def tags_of(self, run: str) -> list[TagRow]:
        """The tags of one run, in the form in which those of all runs come."""
        rows = []
        for info in self._source.tags(run):
            shared = SharedTag(info.tag, info.plugin, info.kind)
            shared.add(run, info)
            rows.append(shared.row())
        return rows

    def scalar_tags(self) -> list[str]:
        return [tag for tag, kind in self._tags.get() if kind is Kind.SCALAR]

    def runs_with_scalar(self, tag: str) -> list[str]:
        """Names of the runs that have a scalar called ``tag``, in natural order."""
        shared = self._tags.get().get((tag, Kind.SCALAR))
        return shared.runs if shared else []


def _merge(source: Source, runs: Iterable[str]) -> SharedTags:
    tags: SharedTags = {}
    for run in runs:
        for info in _iter_tags(source, run):
            key = info.tag, info.kind
            shared = tags.get(key)
            if shared is None:
                shared = tags[key] = SharedTag(info.tag, info.plugin, info.kind)
            shared.add(run, info)
    return tags


def _iter_tags(source: Source, run: str) -> Iterator[TagInfo]:
    try:
        yield from source.tags(run)
    except UnknownRun:
        # The run was removed after it was listed; the next state will not list it.
        return
