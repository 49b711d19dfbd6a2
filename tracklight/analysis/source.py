"""Read access to a log for analysis and dashboards, and what the handlers of dashboards return.

A `RunQuery` describes runs without naming them, for logs with very many runs.

Dashboards import these types from `tracklight.plugin`. They are defined here because the modules
of `tracklight.analysis`, which the plugin API exports, use them as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar

import msgspec
import numpy as np

from tracklight.analysis.jobs import LOCAL_TASKS, Tasks
from tracklight.errors import Message
from tracklight.index.aggregation import CurveReduction, make_compact_curve
from tracklight.index.series_query import SeriesQuery, View
from tracklight.logdir.access import Root
from tracklight.logdir.filesystem import FileHandle
from tracklight.types import (
    CaptureFile,
    DebugEventFile,
    EvaluationFile,
    Point,
    RunInfo,
    Series,
    SeriesSummary,
    SettingsFile,
    SharedTag,
    StudyFile,
    SummaryColumns,
    TagInfo,
    TensorFileEntry,
    ValueLocations,
)

# ---- queries for runs


class RunSelection(msgspec.Struct, forbid_unknown_fields=True):
    """Which of the runs that match a filter are selected: the newest ones, and exceptions.

    ``newest`` null selects all, and so does a filter that at most ``all_up_to`` runs match. ``on``
    and ``off`` name runs that are selected or not in any case. A name that begins with a slash is
    that of a group; runs take precedence over their group.
    """

    newest: Annotated[int, msgspec.Meta(ge=0)] | None = None
    all_up_to: Annotated[int, msgspec.Meta(ge=0)] = 0
    on: list[str] = []
    off: list[str] = []


class RunQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which runs, in which order and in which groups.

    ``filter`` is an expression such as ``state = running and lr < 0.1``. ``sort`` are keys of
    columns, the most important first, with a minus for descending order. ``group_by`` is the key of
    a column, ``path:N`` for part N of the names, counted from 1, or ``re:PATTERN`` for what a
    regular expression captures in them; empty for no groups.
    """

    filter: str = ""
    show_hidden: bool = False
    sort: Annotated[list[str], msgspec.Meta(max_length=8)] = []
    group_by: str = ""
    selection: RunSelection = msgspec.field(default_factory=RunSelection)


class GroupQuery(RunQuery):
    """The selected runs of one group, all if ``group`` is null.

    ``split`` is ``train``, ``validation``, ``evaluation``, ``test``, or empty for runs whose names
    do not say what they were computed on; null for all.
    """

    group: str | None = None
    split: str | None = None


# ---- sources

ResultT = TypeVar("ResultT")


class Sentence(msgspec.Struct):
    """A sentence for the page: the English text, and what the page translates it by."""

    code: str
    """Empty if there is no translation."""
    text: str
    args: dict[str, str | int | float | Sentence]

    @classmethod
    def make(cls, message: str | Message) -> Sentence:
        """Return a message in the form in which it is sent."""
        if isinstance(message, str):
            return cls("", message, {})
        args = {
            name: cls.make(value) if isinstance(value, Message) else value
            for name, value in message.args.items()
        }
        return cls(message.code, message.text, args)

    def __str__(self) -> str:
        return self.text


class Problem(msgspec.Struct, omit_defaults=True):
    """An error for the page: what failed, and what to do about it.

    ``code`` and ``args`` identify the message for translation, ``hint_code`` the hint. They are
    absent if the sentence has no code.
    """

    message: str
    hint: str
    code: str = ""
    args: dict[str, str | int | float | Sentence] = msgspec.field(default_factory=dict)
    hint_code: str = ""

    @classmethod
    def make(cls, message: str | Message, hint: str | Message) -> Problem:
        """Return the problem of two sentences, with their codes if they have any.

        Args:
            message: What failed.
            hint: What to do about it.
        """
        problem = cls(str(message), str(hint))
        if isinstance(message, Message):
            problem.code, problem.args = message.code, Sentence.make(message).args
        if isinstance(hint, Message):
            problem.hint_code = hint.code
        return problem


class Empty(msgspec.Struct):
    """An empty request, or an empty response to a request that succeeded."""


@dataclass(frozen=True)
class Blob:
    """A file as a response. With a ``filename`` browsers save it, otherwise they show it."""

    content: bytes
    media_type: str
    filename: str | None = None
    immutable: bool = False
    """True if this URL always has the same response; browsers then cache it."""


@dataclass(frozen=True)
class Stream:
    """A file that is too large to be built in memory; browsers save it."""

    chunks: Iterator[bytes]
    """Iterated in worker threads while the response is sent. Validate the request before: errors
    cannot be reported once the first chunk has been sent."""
    media_type: str
    filename: str


#: Files beside event files; the methods of `Source` that list them have the same names.
FileKind = Literal[
    "settings", "captures", "tensor_files", "debug_files", "evaluation_files", "study_files"
]


class Source(Protocol):
    """Read access to the log. All methods may be called from any thread at any time."""

    @property
    def version(self) -> int:
        """A number that grows with every change of the log."""

    @property
    def roots(self) -> Sequence[Root]:
        """The log directories, to read files other than event files."""

    @property
    def cache_folder(self) -> Path | None:
        """A folder for cached results of this log; None if nothing may be written."""

    def runs(self) -> tuple[RunInfo, ...]:
        """Return all runs, in natural order."""

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        """Return the tags of one run."""

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]:
        """Return the tags of several runs, each with the runs that have it."""

    def scalar(self, run: str, tag: str) -> Series:
        """Return all points of one scalar series, including overwritten ones."""

    def summaries(self, keys: Sequence[tuple[str, str]]) -> Sequence[SeriesSummary | None]:
        """Return the last, lowest and highest point of each series (run, tag); None if missing."""

    def summary_columns(self, runs: Sequence[str], tag: str) -> SummaryColumns:
        """Return the last, lowest and highest value of one tag in many runs, as columns."""

    def last_points(self, keys: Sequence[tuple[str, str]]) -> Sequence[Point | None]:
        """Return the last written point of each series (run, tag), without reading the rest."""

    def plugin_data(self, tag: str) -> Mapping[str, bytes]:
        """Return ``plugin_data.content`` of the summary metadata of a tag, by run."""

    def settings(self) -> Sequence[SettingsFile]:
        """List files with hyperparameters in or above folders of runs, such as ``hparams.yaml``."""

    def read_settings(self, file: SettingsFile) -> bytes:
        """Read such a file, truncated if it is too large; raises OSError if it was removed."""

    def captures(self) -> Sequence[CaptureFile]:
        """List profiler captures, by run and session."""

    def fetch_capture(self, capture: CaptureFile) -> AbstractContextManager[Path]:
        """Return a local path of a capture; a remote one is downloaded for the ``with`` block."""

    def tensor_files(self) -> Sequence[TensorFileEntry]:
        """List checkpoints and other files with tensors, and projector configurations."""

    def debug_files(self) -> Sequence[DebugEventFile]:
        """List the files of dumps of TensorFlow's debugger."""

    def open_debug_file(self, file: DebugEventFile) -> FileHandle:
        """Open such a file; raises OSError if it was removed."""

    def evaluation_files(self) -> Sequence[EvaluationFile]:
        """List the files of evaluation folders of TensorFlow Model Analysis."""

    def study_files(self) -> Sequence[StudyFile]:
        """List storages of Optuna, and the files of result folders of other tuners."""

    def fetch_study_file(self, file: StudyFile) -> AbstractContextManager[Path]:
        """Return a local path of such a file; a remote one is downloaded for the ``with`` block."""

    def query(
        self, keys: Sequence[tuple[str, str]], query: SeriesQuery, view: View[ResultT]
    ) -> list[ResultT]:
        """Apply ``view`` to several series (run, tag) after axis, smoothing and baseline."""

    def reduce(
        self,
        keys: Sequence[tuple[str, str]],
        query: SeriesQuery,
        reduction: CurveReduction[ResultT],
    ) -> ResultT:
        """Reduce several series (run, tag) to one result, after axis, smoothing and baseline."""

    def locate(self, run: str, tag: str) -> ValueLocations:
        """Return steps, wall times and file positions of the values of a tag other than scalars."""

    def read(self, locations: ValueLocations, index: int) -> bytes:
        """Read one of these values, as the bytes of its ``Summary.Value`` message."""

    def read_many(self, locations: ValueLocations, indexes: Sequence[int]) -> list[bytes]:
        """Read several of these values; raises if one of them cannot be read."""


@dataclass(frozen=True)
class DataAccess:
    """What dashboards may read and run besides the log; set by flags of the server."""

    data_dirs: tuple[str, ...] = ()
    """More directories with data files."""
    model_hosts: tuple[str, ...] = ()
    """Hosts with model servers, besides this machine."""
    allow_model_execution: bool = False
    """Whether model files may be run, in a separate process."""
    workspaces: Mapping[str, Any] = field(default_factory=dict)
    """Data and models of the program that started the server, by name."""
    tasks: Tasks = LOCAL_TASKS
    """Where long computations run."""


NO_ACCESS = DataAccess()


def reduce_here(
    source: Source,
    keys: Sequence[tuple[str, str]],
    query: SeriesQuery,
    reduction: CurveReduction[ResultT],
) -> ResultT:
    """Do the same as `Source.reduce` in this process, with the curves of a source."""
    curves = source.query(keys, query, make_compact_curve)
    return reduction.merge([reduction.reduce(np.arange(len(keys)), curves)])


@dataclass(frozen=True)
class Context:
    """What the server gives to a dashboard."""

    log: Source
    scalar_tags: Callable[[], Sequence[str]]
    """Returns all scalar tags."""
    runs_with: Callable[[str], Sequence[str]]
    """Returns the names of the runs that have a scalar with this tag, in natural order."""
    cursor: Callable[[], str]
    """Returns the current position in the stream of changes. Get it before reading the log, so
    that a change in between is reported twice and not missed."""
    describe_error: Callable[[Exception], Problem]
    """Turns an error into a message for the page, for responses of which a part failed."""
    access: DataAccess = NO_ACCESS
    view: Mapping[str, str] = field(default_factory=dict)
    """The URL parameters of the view that a static export shows; empty on a server."""
    state: Callable[[], str] | None = None
    """Returns a text that changes whenever the log may have changed; None in a static export."""
    changed_runs: Callable[[str, Sequence[str]], Collection[str] | None] | None = None
    """Returns the runs whose series of some tags may have changed since a cursor, or None if that
    is not known; None in a static export."""
    select_runs: Callable[[GroupQuery], Sequence[str]] | None = None
    """Returns the names of the runs that a query describes; None in a static export."""
