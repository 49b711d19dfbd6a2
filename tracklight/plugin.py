"""The plugin API: everything that the server part of a dashboard needs.

Built-in dashboards and third-party plugins use the same API; ``docs/plugins.md`` describes it. A
plugin is a subclass of `Dashboard` that is named in the entry point group
``tracklight.dashboards``. Import from here only: other modules may change in any release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from tracklight.analysis.jobs import (
    Job,
    JobCancelledError,
    JobProgress,
    Jobs,
    JobStore,
    make_job_key,
)
from tracklight.analysis.media import (
    ExportPart,
    SeriesSteps,
    StepsRequest,
    StepsResponse,
    ValueReader,
    ValueRequest,
    compute_fingerprints,
    encode_uri_component,
    export_values,
    has_fingerprint,
    list_steps,
    render_markdown,
    steps_path,
    tag_path,
    value_path,
)
from tracklight.analysis.media import start_deadline as start_markdown_deadline
from tracklight.analysis.media.time_limits import Deadline, match_lines
from tracklight.analysis.source import (
    Blob,
    Context,
    DataAccess,
    Empty,
    FileKind,
    Problem,
    Source,
    Stream,
)
from tracklight.errors import FormatError, LogError, TracklightError, UsageError
from tracklight.index.downsampling import Line, LineView, to_float32_if_exact
from tracklight.index.downsampling import make_edges as make_pixel_edges
from tracklight.index.series_query import Baseline, Curve, SeriesQuery, Smoothing, View
from tracklight.logdir.access import ConfinedFiles, DataFiles, Root
from tracklight.types import (
    CaptureFile,
    DebugEventFile,
    EvaluationFile,
    Float32,
    Float64,
    Int32,
    Int64,
    Kind,
    Point,
    RunInfo,
    Series,
    SeriesSummary,
    SettingsFile,
    SharedTag,
    TagInfo,
    TensorFileEntry,
    ValueLocations,
)
from tracklight.util.files import to_json_number
from tracklight.util.memory import LruCache

__all__ = [
    "Baseline",
    "Blob",
    "CaptureFile",
    "ConfinedFiles",
    "Context",
    "Curve",
    "Dashboard",
    "DataAccess",
    "DataFiles",
    "Deadline",
    "DebugEventFile",
    "Empty",
    "EvaluationFile",
    "ExportPart",
    "FileKind",
    "Float32",
    "Float64",
    "FormatError",
    "Int32",
    "Int64",
    "Job",
    "JobCancelledError",
    "JobProgress",
    "JobStore",
    "Jobs",
    "Kind",
    "Line",
    "LineView",
    "LogError",
    "LruCache",
    "Method",
    "Point",
    "Problem",
    "Root",
    "Route",
    "RunInfo",
    "Series",
    "SeriesQuery",
    "SeriesSteps",
    "SeriesSummary",
    "SettingsFile",
    "SharedTag",
    "Smoothing",
    "Source",
    "StepsRequest",
    "StepsResponse",
    "Stream",
    "TagInfo",
    "TensorFileEntry",
    "TracklightError",
    "UsageError",
    "ValueLocations",
    "ValueReader",
    "ValueRequest",
    "View",
    "compute_fingerprints",
    "encode_uri_component",
    "export_values",
    "has_fingerprint",
    "list_steps",
    "make_job_key",
    "make_pixel_edges",
    "match_lines",
    "render_markdown",
    "start_markdown_deadline",
    "steps_path",
    "tag_path",
    "to_float32_if_exact",
    "to_json_number",
    "value_path",
]

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


@dataclass(frozen=True)
class Route:
    """One HTTP route of a dashboard, below ``api/v1/<name>/``.

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
    """Returns a text that changes whenever the response may have changed, such as `Context.state`.
    Browsers then revalidate their copy of a GET instead of fetching it again, and equal requests of
    several viewers get the same response, which must not depend on the viewer."""
    immutable: Callable[[Any], bool] | None = None
    """Returns whether the response to this request never changes; browsers then cache it."""
    mutates: bool = False
    """The handler changes what others see, or keeps an upload: refused for other sites, for users
    that may only view, and by read-only servers."""
    upload_bytes: int | None = None
    """The body is a file of at most this size and becomes the field ``body`` of the request; the
    other fields are in the query."""
    max_body_bytes: int | None = None
    """The largest JSON body; by default 1 MB."""


class Dashboard(ABC):
    """The server part of a dashboard. One instance is created for each server.

    Args:
        context: The log and what else the server offers.

    Example:
        >>> class RunNames(Dashboard):
        ...     name, title = "run_names", "Run names"
        ...
        ...     def routes(self):
        ...         return [Route("list", Empty, self.list_names, "GET", self.context.cursor)]
        ...
        ...     def list_names(self, _: Empty) -> list[str]:
        ...         return [run.name for run in self.context.log.runs()]
    """

    name: ClassVar[str]
    """Used in URLs: lower-case letters, digits, ``-`` and ``_``."""
    title: ClassVar[str]
    """The label of its tab."""
    plugins: ClassVar[Sequence[str]] = ()
    """The dashboard is active if the log has tags of one of these TensorBoard plugin names. With
    neither ``plugins`` nor ``files`` it is always active."""
    files: ClassVar[Sequence[FileKind]] = ()
    """It is also active if the log directories have files of one of these kinds."""
    needs_data_access: ClassVar[bool] = False
    """It is also active if the server has data besides the log, such as ``--data-dir``
    (`Context.access`). Without ``plugins`` and ``files``, it is active only then."""
    web_dir: ClassVar[Path | None] = None
    """The folder with ``index.js``; None for dashboards that are part of tracklight's page."""

    def __init__(self, context: Context) -> None:
        self.context = context

    @abstractmethod
    def routes(self) -> Sequence[Route]:
        """Return the HTTP routes below ``api/v1/<name>/``."""

    def prepare(self) -> None:  # noqa: B027  optional
        """Warm caches once the log has been read for the first time.

        Called in a background thread if the dashboard is active; requests may arrive meanwhile.
        """

    def get_revision(self) -> str:
        """Return a text that changes with what users store through the dashboard.

        It is called after each request to a route that ``mutates`` and every few seconds, since
        other servers of the log may share the stored data. Open pages are notified when it changes.
        """
        return ""

    def close(self) -> None:  # noqa: B027  optional
        """Stop background work; called when the server shuts down."""

    def export_static(self, runs: Sequence[str]) -> Iterable[tuple[str, object]]:
        """Yield what a static export of these runs contains, as pairs of path and response.

        A GET of the path below ``api/v1/<name>/`` gets that response in the exported page, so that
        the web part works without a server. Without any, the export has no tab for the dashboard.

        Example:
            >>> def export_static(self, runs):
            ...     yield "summary", self.read_summary(SummaryRequest(list(runs)))
        """
        return ()
