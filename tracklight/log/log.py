"""`open` gives a `Log`: everything of a log directory, at once and from Python."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, UnknownRun, UnknownTag, UsageError
from tracklight.formats import proto
from tracklight.formats.batch import Content
from tracklight.formats.values import Audio, Histogram, Images, Tensor, Text, decode_value
from tracklight.index.catalog import Catalog
from tracklight.index.sizes import parse_bytes
from tracklight.log.selection import Choice, select
from tracklight.log.table import Table
from tracklight.log.values import Rows, Values
from tracklight.logdir.roots import Root, Spec, parse_roots
from tracklight.types import Delta, FileInfo, Kind, RunInfo, Series, TagInfo

#: What reads the values of each kind.
_METHODS = {
    Kind.SCALAR: "scalar",
    Kind.IMAGE: "images",
    Kind.AUDIO: "audio",
    Kind.TEXT: "text",
    Kind.HISTOGRAM: "histograms",
}


def open(
    logdir: Spec,
    *,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    cache: bool | str | os.PathLike[str] = True,
    memory: str | int = "2GB",
) -> Log:
    """Read a log directory, or several: ``"logs"``, ``"a:logs/a,b:logs/b"``, a list, a mapping.

    ``include`` and ``exclude`` are globs over run names. What was read is kept in the user's cache
    folder, or in another that ``cache`` names, so that the next time only what is new is read;
    False keeps nothing. Beyond ``memory`` points are kept on disk, too.
    """
    log = Log(create_catalog(logdir, include, exclude, cache, memory))
    log.refresh()
    return log


def create_catalog(
    logdir: Spec,
    include: str | Iterable[str],
    exclude: str | Iterable[str],
    cache: bool | str | os.PathLike[str],
    memory: str | int,
) -> Catalog:
    """The index of what these arguments name, of which nothing is read yet."""
    return Catalog(
        parse_roots(logdir),
        include=_as_tuple(include),
        exclude=_as_tuple(exclude),
        cache=cache if isinstance(cache, bool) else Path(cache),
        memory_bytes=parse_bytes(memory),
    )


class Log:
    """A log as it was at the last `refresh`. Close it, or use it in a ``with`` block."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._runs: tuple[RunInfo, ...] | None = None
        self._tags: dict[str, dict[str, TagInfo]] = {}

    def refresh(self) -> Delta:
        """Read what was written since, and say which runs that changed."""
        self._runs = None
        self._tags.clear()
        return self._catalog.refresh()

    def close(self) -> None:
        self._catalog.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        places = ", ".join(root.path for root in self.roots)
        return f"<Log of {places}: {len(self.runs):,} runs, {self.points:,} points>"

    @property
    def catalog(self) -> Catalog:
        """The index behind the log, for what of tracklight stands on both."""
        return self._catalog

    @property
    def roots(self) -> tuple[Root, ...]:
        """The directories that the log is made of."""
        return self._catalog.roots

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of all runs, in natural order."""
        return tuple(run.name for run in self._get_runs())

    @property
    def points(self) -> int:
        """How many scalar points there are in all runs, overwritten ones included."""
        return sum(run.points for run in self._get_runs())

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences on what could not be listed or read."""
        return self._catalog.problems

    def tags(self, run: str) -> dict[str, TagInfo]:
        """What is known of every tag of a run, in natural order of the tags."""
        return dict(self._get_tags(run))

    def files(self, run: str) -> tuple[FileInfo, ...]:
        """The event files of a run, in the order they were started."""
        return self._catalog.files(run)

    def scalar(self, run: str, tag: str) -> Series:
        """All points of one tag as arrays that cannot be written to."""
        self._check_kind(run, tag, Kind.SCALAR)
        return _freeze(self._catalog.scalar(run, tag))

    def scalars(
        self, run: Choice = None, tag: Choice = None, *, overwritten: bool = False
    ) -> Table:
        """The points of many series as one long table.

        Runs and tags are chosen by name, by glob (``"lr*/train"``), by regular expression
        (``"re:loss$"`` or a compiled one), or by a list of these. Overwritten points are left out
        unless asked for.
        """
        series = [
            self._catalog.scalar(name, info.tag)
            for name, tags in self.choose(run, tag).items()
            for info in tags
            if info.kind is Kind.SCALAR
        ]
        if not overwritten:
            series = [one.current() for one in series]
        return Table(series, overwritten=overwritten)

    def choose(self, run: Choice = None, tag: Choice = None) -> dict[str, list[TagInfo]]:
        """The tags that are meant, of every run that is meant."""
        runs = select(run, self.runs, lambda name: UnknownRun(name, self.runs))
        known = dict.fromkeys(name for run in runs for name in self._get_tags(run))
        only = runs[0] if len(runs) == 1 else None
        wanted = frozenset(select(tag, known, lambda name: UnknownTag(only, name, known)))
        return {
            run: [info for info in self._get_tags(run).values() if info.tag in wanted]
            for run in runs
        }

    def images(self, run: str, tag: str) -> Values[Images]:
        """Pictures as encoded files, each value with one or more; ``to_arrays()`` decodes them."""
        return self._values(run, tag, Kind.IMAGE)

    def audio(self, run: str, tag: str) -> Values[Audio]:
        """Clips as encoded files, each value with one or more; ``to_arrays()`` decodes them."""
        return self._values(run, tag, Kind.AUDIO)

    def text(self, run: str, tag: str) -> Values[NDArray[np.object_]]:
        """Strings, each value an array of them; of rank 0 for a plain text."""
        return self._values(run, tag, Kind.TEXT)

    def histograms(self, run: str, tag: str) -> Values[Histogram]:
        """Buckets and their counts."""
        return self._values(run, tag, Kind.HISTOGRAM)

    def tensors(self, run: str, tag: str) -> Values[NDArray[Any]]:
        """The arrays of any tag, whichever plugin it belongs to.

        A number comes as an array of rank 0; a graph as an array of one string of bytes.
        """
        return self._values(run, tag, Kind.TENSOR)

    def _get_runs(self) -> tuple[RunInfo, ...]:
        if self._runs is None:
            self._runs = self._catalog.runs()
        return self._runs

    def _get_tags(self, run: str) -> dict[str, TagInfo]:
        if run not in self._tags:
            self._tags[run] = {info.tag: info for info in self._catalog.tags(run)}
        return self._tags[run]

    def _check_kind(self, run: str, tag: str, kind: Kind) -> None:
        tags = self._get_tags(run)
        if tag not in tags:
            raise UnknownTag(run, tag, tags)
        found = tags[tag].kind
        if kind not in (found, Kind.TENSOR):
            raise UsageError(
                f'"{tag}" in run "{run}" is of kind {found}, not {kind}; '
                f"read it with log.{_METHODS.get(found, 'tensors')}(run, tag)"
            )

    def _values(self, run: str, tag: str, kind: Kind) -> Values[Any]:
        self._check_kind(run, tag, kind)
        rows = Rows(self._catalog.scalar(run, tag), self._catalog.located(run, tag))
        return Values(rows, partial(self._read, rows, kind))

    def _read(self, rows: Rows, kind: Kind, row: int) -> Any:
        place = rows.find_place(row)
        if place is None:
            if kind is not Kind.TENSOR:
                raise FormatError(f"a plain number is no {kind}")
            return np.asarray(rows.points.value[row])
        data = self._catalog.read(rows.others, place)
        content = rows.others.content[place]
        if content == Content.RUN_METADATA:
            return np.array([proto.parse("TaggedRunMetadata", data).run_metadata], object)
        if content >= Content.GRAPH:
            return np.array([data], object)
        value = decode_value(data, kind)
        return value.array if isinstance(value, Text | Tensor) else value


def _as_tuple(patterns: str | Iterable[str]) -> tuple[str, ...]:
    """A single glob is not to be taken for one a letter."""
    return (patterns,) if isinstance(patterns, str) else tuple(patterns)


def _freeze(series: Series) -> Series:
    """The same arrays, but nobody can change what the index holds through them."""
    columns = [
        getattr(series, name).view() for name in ("step", "wall_time", "value", "overwritten")
    ]
    for column in columns:
        column.flags.writeable = False
    return Series(series.run, series.tag, *columns)
