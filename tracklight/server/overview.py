"""The runs and the tags of all runs, put together once for each state of the index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tracklight.index.shared import share_alone
from tracklight.server.kept import Kept
from tracklight.server.source import Source
from tracklight.server.wire import RunRow, TagRow, run_row, tag_row
from tracklight.types import Kind, SharedTag

SharedTags = dict[tuple[str, Kind], SharedTag]


class Overview:
    """What is asked for again and again by every open page."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._rows = Kept(source, lambda: {run.name: run_row(run) for run in source.runs()})
        self._tags = Kept(source, self._share_tags)

    def runs(self) -> dict[str, RunRow]:
        """All runs by name, in natural order; not to be changed."""
        return self._rows.get()

    def tags(self) -> Iterable[SharedTag]:
        return self._tags.get().values()

    def tags_of(self, run: str) -> list[TagRow]:
        """The tags of one run, in the form in which those of all runs come."""
        return [tag_row(share_alone(run, info)) for info in self._source.tags(run)]

    def scalar_tags(self) -> list[str]:
        return [tag for tag, kind in self._tags.get() if kind is Kind.SCALAR]

    def runs_with_scalar(self, tag: str) -> Sequence[str]:
        """Names of the runs that have a scalar called ``tag``, in natural order."""
        shared = self._tags.get().get((tag, Kind.SCALAR))
        return shared.runs if shared else ()

    def _share_tags(self) -> SharedTags:
        return {(tag.tag, tag.kind): tag for tag in self._source.shared_tags([*self.runs()])}
