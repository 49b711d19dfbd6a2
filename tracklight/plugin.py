"""The door for dashboards: what the Python half of one is made of, and what it may see.

A dashboard is a class with a name, a title and routes. Tracklight's own come through this door as
well as anybody's: name the class in the entry-point group ``tracklight.dashboards`` and it is found
when the server starts. The web half is a folder with an ``index.js`` that exports ``mount``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import msgspec

from tracklight.index.lens import Lens, View
from tracklight.logdir.roots import Root
from tracklight.types import (
    CaptureFile,
    Digest,
    Located,
    Point,
    RunInfo,
    SavedFile,
    Series,
    SettingsFile,
    SharedTag,
    TagInfo,
)

SeenT = TypeVar("SeenT")

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Problem(msgspec.Struct):
    """What is wrong, and what to do next."""

    what: str
    next: str


class Nothing(msgspec.Struct):
    """An ask without anything in it, or an answer that only says that all went well."""


@dataclass(frozen=True)
class Blob:
    """An answer that is a file. With a ``filename`` a browser saves it, else it shows it."""

    content: bytes
    media_type: str
    filename: str | None = None
    immutable: bool = False
    """True where this address can never answer with anything else."""


@dataclass(frozen=True)
class Stream:
    """An answer that is a file too large to be put together first; a browser saves it."""

    chunks: Iterator[bytes]
    """Taken in worker threads while they are sent. What fails from here on cannot be told any
    more: check before."""
    media_type: str
    filename: str


@dataclass(frozen=True)
class Route:
    """One address below the dashboard's own, ``api/<name>/``.

    ``answer`` gets the decoded ask and is called in a worker thread. It returns a msgspec struct,
    in which NumPy arrays may stand as columns, a `Blob` or a `Stream`. An error of
    `tracklight.errors` that it raises is told to who asked; its docstring is the documentation of
    the route.
    """

    path: str
    """Parts in braces (``notes/{id}``) become fields of the ask."""
    ask: Any
    """What the JSON body is decoded into, or for GET and DELETE the query; mostly a struct."""
    answer: Callable[[Any], object]
    method: Method = "POST"
    state: Callable[[], str] | None = None
    """Says something else whenever the answer may have changed; browsers then keep the answer."""
    lasting: Callable[[Any], bool] | None = None
    """Says of an ask whether it can never be answered otherwise; browsers need not ask again."""
    writes: bool = False
    """It changes what is kept: only our own page and programs may ask, and nobody of a server that
    is read-only."""
    upload_bytes: int | None = None
    """The body is a file of at most so many bytes and becomes the field ``body`` of the ask; the
    other fields stand in the query."""


class Source(Protocol):
    """The log as dashboards read it; everything may be called from any thread at any time."""

    @property
    def version(self) -> int:
        """Grows with every change."""

    @property
    def roots(self) -> Sequence[Root]:
        """The log directories, for what is in them beside event files."""

    @property
    def cache_folder(self) -> Path | None:
        """Where what takes long to make of this log may be kept; None where nothing may be."""

    def runs(self) -> tuple[RunInfo, ...]: ...

    def tags(self, run: str) -> tuple[TagInfo, ...]: ...

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]:
        """The tags of some runs together, each with those of the runs that have it."""

    def scalar(self, run: str, tag: str) -> Series: ...

    def digests(self, keys: Sequence[tuple[str, str]]) -> Sequence[Digest | None]:
        """Some series, each a run and a tag, in a few numbers; None for one that is not there."""

    def last_points(self, keys: Sequence[tuple[str, str]]) -> Sequence[Point | None]:
        """The points of some series that were written last, which is quickly found."""

    def plugin_data(self, tag: str) -> Mapping[str, bytes]:
        """What the metadata of a tag holds for its plugin, for every run that has the tag."""

    def settings(self) -> Sequence[SettingsFile]:
        """The files beside runs, or above them, that may hold what they were given."""

    def read_settings(self, file: SettingsFile) -> bytes:
        """Such a file, or the first part of one that is far too large; OSError if it has gone."""

    def captures(self) -> Sequence[CaptureFile]:
        """What profilers left, by run and session."""

    def fetch_capture(self, capture: CaptureFile) -> AbstractContextManager[Path]:
        """Such a file on this machine, which may be a copy for as long as it is looked at."""

    def tensor_files(self) -> Sequence[SavedFile]:
        """The files that hold tensors, or say where some are."""

    def look(self, keys: Sequence[tuple[str, str]], lens: Lens, view: View[SeenT]) -> list[SeenT]:
        """What a view shows of several series, each a run and a tag, through a lens."""

    def located(self, run: str, tag: str) -> Located:
        """Where the values that are not scalars stand."""

    def read(self, located: Located, index: int) -> bytes:
        """One of these values: the bytes of its ``Summary.Value`` message."""

    def read_many(self, located: Located, indexes: Sequence[int]) -> list[bytes]:
        """Several of these values at once; fails as a whole where one cannot be read."""


@dataclass(frozen=True)
class Context:
    """What a dashboard may see of the server."""

    log: Source
    tags: Callable[[], Sequence[str]]
    """All tags of scalars."""
    runs_with: Callable[[str], Sequence[str]]
    """Names of the runs that have a scalar of that tag, in natural order."""
    cursor: Callable[[], str]
    """Where the log stands. Take it before the log is asked: a change is then told twice rather
    than missed."""
    explain: Callable[[Exception], Problem]
    """An error in words fit for the page, for answers of which only a part went wrong."""


class Dashboard(ABC):
    """The Python half of a dashboard."""

    name: ClassVar[str]
    """Its place in addresses: lower-case letters, digits, ``-`` and ``_``."""
    title: ClassVar[str]
    """What its tab says."""
    plugins: ClassVar[Sequence[str]] = ()
    """It has something to show when the log holds data of one of these plugins; none: always."""
    module: ClassVar[Path | None] = None
    """The folder with the web half; None for those that are part of tracklight's page."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @abstractmethod
    def routes(self) -> Sequence[Route]: ...

    def prepare(self) -> None:  # noqa: B027  most have nothing to prepare
        """Put together what takes long of a large log, before anybody asks for it."""

    def close(self) -> None:  # noqa: B027  most have nothing to end
        """End what still runs, as the server ends."""

    def export_static(self, runs: Sequence[str]) -> Iterable[tuple[str, object]]:
        """What a copy of the board, which has no server, knows of these runs.

        Each is a path below the dashboard's own and what a GET of it answers there, so that the
        web half need not tell a copy from a server. Nothing by default: the tab is then not there.
        """
        return ()
