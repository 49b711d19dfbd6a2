"""The types that dashboards are made of, below everything that works with them.

Plugins and built-in dashboards import them from `tracklight.plugin`, which adds series queries,
media and jobs. They are apart from it because those modules and the server build on these types.
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
    """An empty request, or an empty response to a request that succeeded."""


@dataclass(frozen=True)
class Blob:
    """A file as a response. With a ``filename`` browsers save it, otherwise they show it."""

    content: bytes
    media_type: str
    filename: str | None = None
    immutable: bool = False
    """True if this URL always has the same response; browsers then keep it."""


@dataclass(frozen=True)
class Stream:
    """A file that is too large to be built in memory; browsers save it."""

    chunks: Iterator[bytes]
    """Iterated in worker threads while the response is sent. Errors cannot be reported any more
    once the first chunk has been sent, so check the request before."""
    media_type: str
    filename: str


@dataclass(frozen=True)
class Route:
    """One HTTP route of a dashboard, below ``api/<name>/``.

    The docstring of the handler becomes the documentation of the route (OpenAPI).
    """

    path: str
    """Parts in braces (``notes/{id}``) become fields of the request."""
    request_type: Any
    """The type that the JSON body is decoded to (GET and DELETE: the query); mostly a struct."""
    handler: Callable[[Any], object]
    """Called with the decoded request in a worker thread. Returns a msgspec struct, which may
    contain NumPy arrays, or a `Blob` or `Stream`. An exception from `tracklight.errors` becomes an
    error response with its message; any other one becomes status 500."""
    method: Method = "POST"
    etag: Callable[[], str] | None = None
    """Returns a text that changes whenever the response may have changed; browsers then revalidate
    instead of fetching the response again."""
    immutable: Callable[[Any], bool] | None = None
    """Returns whether the response to this request never changes; browsers then keep it."""
    mutates: bool = False
    """The handler changes stored data: refused for other sites and by read-only servers."""
    upload_bytes: int | None = None
    """The body is a file of at most this size and becomes the field ``body`` of the request; the
    other fields are in the query."""


#: Files beside event files; the methods of `Source` that list them have the same names.
FileKind = Literal["settings", "captures", "tensor_files"]


class Source(Protocol):
    """Read access to the log. All methods may be called from any thread at any time."""

    @property
    def version(self) -> int:
        """A number that grows with every change."""

    @property
    def roots(self) -> Sequence[Root]:
        """The log directories, to read files other than event files."""

    @property
    def cache_folder(self) -> Path | None:
        """A folder for cached results of this log; None if nothing may be written."""

    def runs(self) -> tuple[RunInfo, ...]:
        """All runs, in natural order."""

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        """The tags of one run."""

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]:
        """The tags of several runs, each with the runs that have it."""

    def scalar(self, run: str, tag: str) -> Series:
        """All points of one scalar series, overwritten ones included."""

    def digests(self, keys: Sequence[tuple[str, str]]) -> Sequence[Digest | None]:
        """First, last, lowest and highest point of several series (run, tag); None if missing."""

    def last_points(self, keys: Sequence[tuple[str, str]]) -> Sequence[Point | None]:
        """The last written point of several series, without reading the rest."""

    def plugin_data(self, tag: str) -> Mapping[str, bytes]:
        """The ``plugin_data.content`` of the tag's summary metadata, for every run with the tag."""

    def settings(self) -> Sequence[SettingsFile]:
        """Files with hyperparameters in or above the folders of runs, such as ``hparams.yaml``."""

    def read_settings(self, file: SettingsFile) -> bytes:
        """The content of such a file, truncated if it is too large; OSError if it is gone."""

    def captures(self) -> Sequence[CaptureFile]:
        """The profiler captures, by run and session."""

    def fetch_capture(self, capture: CaptureFile) -> AbstractContextManager[Path]:
        """A local path of a capture; a remote one is downloaded for the ``with`` block."""

    def tensor_files(self) -> Sequence[SavedFile]:
        """Checkpoints and other files with tensors, and projector configurations."""

    def query(self, keys: Sequence[tuple[str, str]], lens: Lens, view: View[SeenT]) -> list[SeenT]:
        """Apply ``view`` to several series (run, tag) after axis, smoothing and baseline."""

    def located(self, run: str, tag: str) -> Located:
        """Steps, wall times and file positions of the values of a tag that is not a scalar."""

    def read(self, located: Located, index: int) -> bytes:
        """One of these values, as the bytes of its ``Summary.Value`` message."""

    def read_many(self, located: Located, indexes: Sequence[int]) -> list[bytes]:
        """Several of these values; raises if one of them cannot be read."""


@dataclass(frozen=True)
class Context:
    """What the server gives to a dashboard."""

    log: Source
    tags: Callable[[], Sequence[str]]
    """Returns all scalar tags."""
    runs_with: Callable[[str], Sequence[str]]
    """Returns the names of the runs that have a scalar with this tag, in natural order."""
    cursor: Callable[[], str]
    """Returns the current position in the stream of changes. Get it before reading the log, so
    that a change in between is reported twice and not missed."""
    explain: Callable[[Exception], Problem]
    """Turns an error into a message for the page, for responses of which a part failed."""


class Dashboard(ABC):
    """The server part of a dashboard. One instance is created for each server."""

    name: ClassVar[str]
    """Used in URLs: lower-case letters, digits, ``-`` and ``_``."""
    title: ClassVar[str]
    """The label of its tab."""
    plugins: ClassVar[Sequence[str]] = ()
    """The dashboard is active if the log has tags of one of these TensorBoard plugin names. With
    neither ``plugins`` nor ``files`` it is always active."""
    files: ClassVar[Sequence[FileKind]] = ()
    """It is also active if the log directories have files of one of these kinds."""
    web_dir: ClassVar[Path | None] = None
    """The folder with ``index.js``; None for dashboards that are part of tracklight's page."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @abstractmethod
    def routes(self) -> Sequence[Route]:
        """Return the HTTP routes below ``api/<name>/``."""

    def prepare(self) -> None:  # noqa: B027  optional
        """Warm caches once the log has been read for the first time.

        Called in a background thread if the dashboard is active; requests may arrive meanwhile.
        """

    def close(self) -> None:  # noqa: B027  optional
        """Stop background work; called when the server shuts down."""

    def export_static(self, runs: Sequence[str]) -> Iterable[tuple[str, object]]:
        """Yield what a static export of these runs contains, as pairs of path and response.

        A GET of the path below ``api/<name>/`` gets that response in the exported page, so that
        the web part works without a server. Without any, the export has no tab for the dashboard.
        """
        return ()
