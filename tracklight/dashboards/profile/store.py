"""Captures of a log: list them, load their traces, and cache what is computed from them.

`CaptureStore` is shared by all tools of the dashboard and may be used from any thread. A `Tool` is
one tab of the dashboard, defined in the other modules of this package.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from functools import cache, wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from tracklight.analysis import profiles
from tracklight.analysis.jobs import JobProgress
from tracklight.analysis.profiles.captures import (
    SESSION_FORMAT,
    get_capture_time_s,
    iter_capture_groups,
    open_capture,
    read_start_time_s,
)
from tracklight.analysis.profiles.profile_data import AnalyzedTrace
from tracklight.analysis.profiles.trace import Trace, make_empty_trace
from tracklight.analysis.source import Sentence
from tracklight.dashboards.profile.schemas import (
    CaptureRequest,
    CaptureRow,
    CapturesResponse,
    HostRow,
    OpeningResponse,
    ToolRow,
    ToolsResponse,
    has_version,
)
from tracklight.errors import FormatError, LogError, Message, TracklightError
from tracklight.formats.profiles.memory_profiles import CudaSnapshot, parse_cuda_snapshot
from tracklight.logdir.access import escapes_roots, fetch_local_copy
from tracklight.logdir.discover import is_capture, iter_captures
from tracklight.logdir.filesystem import FileStat, ListedFile
from tracklight.plugin import Context, Problem, Route, Source
from tracklight.types import MEMORY_KINDS, CaptureFile, CaptureKind, Kind, Series
from tracklight.util.files import FileCache, get_notes_path, hash_key
from tracklight.util.memory import LruCache, UploadStore, make_upload_id

#: The run of uploaded captures, which no run of a log has.
UPLOAD_RUN = ""
MAX_UPLOAD_BYTES = 512 << 20
_MAX_UPLOADS = 8
#: Files with these suffixes are opened whatever their name.
_UPLOAD_SUFFIXES = (".json", ".json.gz", ".pickle", ".pkl")
#: Memory for all loaded traces together.
_MAX_CACHED_BYTES = 1 << 30
#: Traces that were not used for this long are released.
_IDLE_S = 600.0
_MAX_RESULT_FILES = 500
#: Estimates of the memory of a trace.
_EVENT_BYTES = 28
_NAME_BYTES = 100
#: Memory of the content of files, which XPlane files and snapshots keep, relative to their size.
_CONTENT_FACTORS: dict[CaptureKind, int] = {"xplane": 1, "snapshot": 6}

T = TypeVar("T")
Request = TypeVar("Request", bound=CaptureRequest)


# ---- listing


class CaptureListing:
    """The captures of a log, grouped again whenever the log changes, and uploaded ones."""

    def __init__(self, context: Context) -> None:
        self.uploads = CaptureUploads()
        self._context = context
        self._cached: tuple[int, dict[str, list[CaptureFile]]] | None = None
        self._times_s: dict[str, float] = {}

    def list_captures(self) -> CapturesResponse:
        cursor = self._context.cursor()
        steps = _RunSteps(self._context.log)
        rows = [self._make_row(id, files, steps) for id, files in self._get_groups().items()]
        return CapturesResponse(cursor, rows)

    def get_row(self, id: str) -> CaptureRow:
        """Return one row of the list.

        Raises:
            LogError: There is no such capture, or not any more.
        """
        return self._make_row(id, self.get_files(id), _RunSteps(self._context.log))

    def _make_row(self, id: str, files: list[CaptureFile], steps: _RunSteps) -> CaptureRow:
        return _make_capture_row(id, files, steps, self._get_time_s(files[0]))

    def _get_time_s(self, file: CaptureFile) -> float:
        """Return when a capture was recorded.

        The name of a PyTorch trace tells. Other files are read if they are on this machine.
        """
        key = _make_key(file)
        if key not in self._times_s:
            path = Path(file.path)
            is_readable = not file.session.isdigit() and path.is_file()
            start_s = read_start_time_s(path, file.kind) if is_readable else None
            self._times_s[key] = get_capture_time_s(file) if start_s is None else start_s
        return self._times_s[key]

    def get_files(self, capture: str) -> list[CaptureFile]:
        """Return the files of a capture, one per host.

        Raises:
            LogError: There is no such capture, or not any more.
        """
        files = self._get_groups().get(capture)
        if files is None:
            raise LogError(
                "profile.capture_gone", "This capture is no longer in the log. Reload the page"
            )
        return files

    def get_file(self, capture: str, host: str) -> CaptureFile:
        """Return the file of a host; of the first one if the host is empty.

        Raises:
            LogError: There is no such capture or host.
        """
        files = self.get_files(capture)
        file = next((file for file in files if host in ("", file.host)), None)
        if file is None:
            hosts = ", ".join(f'"{file.host}"' for file in files)
            raise LogError(
                "profile.no_host",
                'This capture has no host "{host}". Its hosts are {hosts}',
                host=host,
                hosts=hosts,
            )
        return file

    def _get_groups(self) -> dict[str, list[CaptureFile]]:
        version = self._context.log.version
        cached = self._cached
        if cached is None or cached[0] != version:
            groups = dict(iter_capture_groups(self._context.log.captures()))
            self._cached = cached = version, groups
        return cached[1] | {id: [file] for id, file in self.uploads.list_files().items()}


def _make_capture_row(
    id: str, files: Sequence[CaptureFile], steps: _RunSteps, wall_s: float
) -> CaptureRow:
    first = files[0]
    return CaptureRow(
        id=id,
        run=first.run,
        session=first.session,
        title=_make_title(first.session, wall_s),
        kind=first.kind,
        wall_s=wall_s,
        step=steps.find_step(first.run, wall_s),
        bytes=sum(file.bytes for file in files),
        version=zlib.crc32("".join(file.version for file in files).encode()),
        hosts=[HostRow(file.host, file.bytes) for file in files],
    )


def _make_title(session: str, wall_s: float) -> str:
    """Return the name that a user gave to a session, or else the time of the capture."""
    try:
        recorded_at = datetime.strptime(session, SESSION_FORMAT)
    except ValueError:
        if not session.isdigit():
            return session
        recorded_at = datetime.fromtimestamp(wall_s)
    return recorded_at.strftime("%Y-%m-%d %H:%M:%S")


class _RunSteps:
    """Steps of runs over time, according to the scalar that each run logged most often."""

    def __init__(self, log: Source) -> None:
        self._log = log
        self._series: dict[str, Series | None] = {}

    def find_step(self, run: str, wall_s: float) -> int | None:
        """Return the last step that a run logged before a time."""
        if run not in self._series:
            self._series[run] = None if run == UPLOAD_RUN else self._find_series(run)
        series = self._series[run]
        if series is None:
            return None
        before = np.flatnonzero(series.wall_time <= wall_s)
        return int(series.step[before[-1]]) if len(before) else None

    def _find_series(self, run: str) -> Series | None:
        scalars = [info for info in self._log.tags(run) if info.kind is Kind.SCALAR]
        if not scalars:
            return None
        tag = max(scalars, key=lambda info: info.count).tag
        return self._log.scalar(run, tag).without_overwritten()


# ---- uploads


class CaptureUploads:
    """Captures that users uploaded, by id. May be used from any thread.

    Each is kept in a temporary file, as readers need files, until too many others have been
    uploaded or the server stops.
    """

    def __init__(self) -> None:
        self._folder = ""
        self._lock = threading.Lock()
        self._files: UploadStore[tuple[str, CaptureFile]] = UploadStore(
            max_items=_MAX_UPLOADS, on_drop=_delete_upload
        )

    def list_files(self) -> dict[str, CaptureFile]:
        """Return the uploaded captures by id, oldest first."""
        return dict(self._files.list_values())

    def find_path(self, file: CaptureFile) -> Path | None:
        """Return the path of an uploaded capture; None if it belongs to the log."""
        return Path(file.path) if file.run == UPLOAD_RUN else None

    def add(self, name: str, content: bytes) -> str:
        """Keep a capture, and return its id.

        Raises:
            FormatError: The name is not that of a capture.
        """
        name = name.replace("\\", "/").rpartition("/")[2]
        if not is_capture(name) and not name.endswith(_UPLOAD_SUFFIXES):
            raise FormatError(
                "profile.upload_unknown",
                '"{name}" is not a capture. Captures are *.xplane.pb, *.json, *.json.gz, '
                "*.prof and *.pickle",
                name=name,
            )
        id = make_upload_id()
        # The name of a file is chosen by the client, so that it is not used for the path.
        suffix = next(s for s in (".xplane.pb", ".json.gz", ".json", "") if name.endswith(s))
        path = Path(self._get_folder(), f"{id}{suffix}")
        path.write_bytes(content)
        return self._files.put(id, (id, _make_uploaded_file(name, path, len(content))))

    def remove(self, id: str) -> None:
        """Delete a capture that cannot be read."""
        self._files.remove(id)

    def _get_folder(self) -> str:
        with self._lock:
            if not self._folder:
                self._folder = tempfile.mkdtemp(prefix="tracklight-captures-")
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            return self._folder


def _delete_upload(upload: tuple[str, CaptureFile]) -> None:
    Path(upload[1].path).unlink(missing_ok=True)


def _make_uploaded_file(name: str, path: Path, size: int) -> CaptureFile:
    stat = FileStat(size, time.time_ns(), path.name)
    (capture,) = iter_captures([ListedFile("", name, str(path), stat)], opened_file=name)
    return CaptureFile(
        run=UPLOAD_RUN,
        session=capture.session,
        host=capture.host,
        kind=capture.kind,
        path=str(path),
        bytes=size,
        mtime_s=stat.mtime_ns / 1e9,
        version=repr(stat),
    )


# ---- loading and caching


class LoadedCapture(AnalyzedTrace):
    """The trace of one host of a capture, and what was derived from it."""

    def __init__(
        self, file: CaptureFile, trace: Trace, snapshot: CudaSnapshot | None = None
    ) -> None:
        super().__init__(trace)
        self.file = file
        self.snapshot = snapshot

    @property
    def memory_bytes(self) -> int:
        """Estimated memory, assuming that derived values take as much as the trace."""
        args_bytes = sum(column.nbytes for column in self.trace.args)
        columns_bytes = 2 * (args_bytes + _EVENT_BYTES * len(self.trace))
        content_bytes = _CONTENT_FACTORS.get(self.file.kind, 0) * self.file.bytes
        return columns_bytes + _NAME_BYTES * len(self.trace.names) + content_bytes


def load_file(file: CaptureFile, path: Path, on_progress: Callable[[float], None]) -> LoadedCapture:
    """Read a capture file. Memory profiles and snapshots have an empty trace.

    Raises:
        FormatError: The file cannot be read.
    """
    if file.kind == "snapshot":
        snapshot = parse_cuda_snapshot(path.read_bytes())
        return LoadedCapture(file, make_empty_trace(), snapshot)
    is_trace = file.kind not in MEMORY_KINDS
    return LoadedCapture(file, open_capture(path, on_progress) if is_trace else make_empty_trace())


def compute_from_file(
    file: CaptureFile,
    roots: Sequence[str],
    compute: Callable[[LoadedCapture], T],
    *,
    progress: JobProgress,
) -> T:
    """Read a capture file and compute something from it, on a node of a cluster.

    Raises:
        FormatError: The file cannot be read.
        OSError: The node does not have the file, or it is a link to a file outside the roots.
    """
    if escapes_roots(file.path, roots):
        raise PermissionError(f'"{file.path}" is outside the log directory')
    with fetch_local_copy(file.path) as path:
        return compute(load_file(file, path, lambda share: None))


class ResultCache:
    """Results of slow analyses in files, which outlive the server.

    The key of a result names everything that it depends on. A result that cannot be read is
    computed again. Without a folder, nothing is cached.
    """

    def __init__(self, folder: Path | None) -> None:
        self._cache = None if folder is None else FileCache(folder, max_files=_MAX_RESULT_FILES)

    def get_or_compute(self, key: str, type_: type[T], compute: Callable[[], T]) -> T:
        """Return the result of a key, decoded as a struct of the given type."""
        if self._cache is None:
            return compute()
        name = f"{_get_code_version()} {type_.__qualname__} {key}"
        content = self._cache.find(name)
        result = None if content is None else _decode(content, type_)
        if result is None:
            result = compute()
            self._cache.put(name, msgspec.msgpack.encode(result, enc_hook=_encode_array))
        return result


@cache
def _get_code_version() -> str:
    """Return a text that changes whenever the code that computes results may have changed."""
    folders = (Path(__file__).parent, Path(profiles.__file__).parent)
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    stats = [(path.name, path.stat()) for path in files]
    return hash_key(repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]))


def _decode(content: bytes, type_: type[T]) -> T | None:
    """Return a result, or None if the content is damaged."""
    try:
        return msgspec.msgpack.decode(content, type=type_, dec_hook=_decode_array)
    except (msgspec.DecodeError, ValueError, TypeError):
        return None


def _encode_array(value: Any) -> object:
    if not isinstance(value, np.ndarray):
        raise NotImplementedError(f"Cannot encode a {type(value).__name__}")
    return [value.dtype.str, value.tobytes()]


def _decode_array(_: type, value: Any) -> object:
    dtype, content = value
    return np.frombuffer(content, np.dtype(dtype))


class CaptureStore:
    """Load captures and cache results.

    If several threads request a capture at the same time, one reads it and the others wait.
    """

    def __init__(self, context: Context) -> None:
        self.listing = CaptureListing(context)
        self.notes_path = get_notes_path(root.path for root in context.log.roots)
        self._context = context
        folder = context.log.cache_folder
        self._results = ResultCache(folder / "profiles" if folder else None)
        self._loaded: LruCache[str, LoadedCapture] = LruCache(
            max_bytes=_MAX_CACHED_BYTES, idle_s=_IDLE_S, keep_oversized=True
        )
        self._progress: dict[str, float] = {}
        self._problems: dict[str, Problem] = {}

    def load(self, request: CaptureRequest) -> LoadedCapture:
        """Return the trace of one host of a capture, and read it if it is not cached.

        Raises:
            LogError: There is no such capture or host.
            FormatError: The file cannot be read.
        """
        file = self.listing.get_file(request.capture, request.host)
        return self._loaded.get_or_build(
            _make_key(file), lambda: self._load_file(file), lambda capture: capture.memory_bytes
        )

    def get_or_compute(
        self,
        request: CaptureRequest,
        name: str,
        type_: type[T],
        compute: Callable[[LoadedCapture], T],
        as_task: bool = False,
    ) -> T:
        """Return a result from the cache, or compute it.

        Args:
            request: The capture and the parameters that results depend on.
            name: Distinguishes results of the same request.
            type_: Type of the result.
            compute: Called with the loaded capture.
            as_task: See `compute`.
        """
        file = self.listing.get_file(request.capture, request.host)
        key = f"{_make_key(file)} {name} {request.marker} {request.rules} {request.thresholds}"
        return self._results.get_or_compute(
            key, type_, lambda: self.compute(request, compute, as_task)
        )

    def compute(
        self, request: CaptureRequest, compute: Callable[[LoadedCapture], T], as_task: bool = False
    ) -> T:
        """Compute something from a capture.

        Args:
            request: The capture and its host.
            compute: Called with the loaded capture; picklable if it is a task.
            as_task: With a cluster, read and analyze the file there, unless it is loaded already.
        """
        file = self.listing.get_file(request.capture, request.host)
        tasks = self._context.access.tasks
        is_upload = self.listing.uploads.find_path(file) is not None
        is_here = is_upload or self._loaded.find(_make_key(file)) is not None
        if not as_task or tasks.is_local or is_here:
            return compute(self.load(request))
        roots = [root.path for root in self._context.log.roots]
        result: T = tasks.run(compute_from_file, file, roots, compute, progress=JobProgress())
        return result

    def map_hosts(
        self, capture: str, compute: Callable[[str], T]
    ) -> list[tuple[str, T | TracklightError | OSError]]:
        """Call a function with every host of a capture, in parallel if there is a cluster.

        Returns:
            The hosts with their results, or with the error if a file cannot be read.
        """

        def call(host: str) -> tuple[str, T | TracklightError | OSError]:
            try:
                return host, compute(host)
            except (TracklightError, OSError) as error:
                return host, error

        hosts = [file.host for file in self.listing.get_files(capture)]
        threads = min(len(hosts), self._context.access.tasks.parallelism)
        with ThreadPoolExecutor(threads, "tracklight-hosts") as pool:
            return list(pool.map(call, hosts))

    @contextmanager
    def open_file(self, request: CaptureRequest) -> Iterator[Path]:
        """Give access to the capture file itself, as a local copy if it is remote."""
        file = self.listing.get_file(request.capture, request.host)
        with self._fetch(file) as path:
            yield path

    def upload(self, name: str, content: bytes) -> CaptureRow:
        """Keep an uploaded capture, and read it.

        Raises:
            FormatError: It is not a capture, or cannot be read.
        """
        uploads = self.listing.uploads
        id = uploads.add(name, content)
        try:
            self.load(CaptureRequest(id))
        except TracklightError:
            uploads.remove(id)
            raise
        return self.listing.get_row(id)

    def _fetch(self, file: CaptureFile) -> AbstractContextManager[Path]:
        path = self.listing.uploads.find_path(file)
        return self._context.log.fetch_capture(file) if path is None else nullcontext(path)

    def get_opening(self, request: CaptureRequest) -> OpeningResponse:
        """Return the progress of reading a capture, without starting to read it."""
        file = self.listing.get_file(request.capture, request.host)
        key = _make_key(file)
        share, problem = self._progress.get(key), self._problems.get(key)
        if share is not None:
            return OpeningResponse("opening", share, file.bytes, None)
        if problem is not None:
            return OpeningResponse("failed", None, file.bytes, problem)
        is_ready = self._loaded.find(key) is not None
        return OpeningResponse("ready" if is_ready else "idle", None, file.bytes, None)

    def _load_file(self, file: CaptureFile) -> LoadedCapture:
        key = _make_key(file)

        def on_progress(share: float) -> None:
            self._progress[key] = share

        on_progress(0.0)
        try:
            with self._fetch(file) as path:
                capture = load_file(file, path, on_progress)
            self._problems.pop(key, None)
            return capture
        except (TracklightError, OSError) as error:
            self._problems[key] = self._context.describe_error(error)
            raise
        finally:
            del self._progress[key]


def _make_key(file: CaptureFile) -> str:
    return f"{file.path} {file.version}"


# ---- tools


class EmptyReason(NamedTuple):
    """Why a tool has nothing to show of a capture, and what to do about it."""

    message: Message
    hint: Message | None = None


class Tool(NamedTuple):
    """A tab of the dashboard."""

    name: str
    make_routes: Callable[[CaptureStore], Sequence[Route]]
    explain_empty: Callable[[LoadedCapture], EmptyReason | None]
    """Returns why the tool has nothing to show; None if it has something."""
    iter_static_responses: Callable[[CaptureStore, CaptureRequest], Iterable[tuple[str, object]]]
    """Yields what a static export contains of a capture: paths with their query, and responses."""


def make_tool(
    name: str,
    request_type: type[Request],
    get_response: Callable[[CaptureStore, Request], object],
    explain: Callable[[LoadedCapture], EmptyReason | None],
    is_immutable: Callable[[Any], bool] = has_version,
) -> Tool:
    """Return a tool with one route of the same name.

    Args:
        name: The name of the tool and the path of the route.
        request_type: The request. A static export contains the response to its defaults.
        get_response: Computes the response. Its docstring documents the route.
        explain: Returns why the tool has nothing to show; None if it has something.
        is_immutable: Returns whether the response never changes.
    """

    def make_routes(store: CaptureStore) -> Sequence[Route]:
        @wraps(get_response)
        def handle(request: Request) -> object:
            return get_response(store, request)

        return [Route(name, request_type, handle, "GET", immutable=is_immutable)]

    def iter_static(store: CaptureStore, request: CaptureRequest) -> Iterator[tuple[str, object]]:
        response = get_response(store, request_type(request.capture))
        yield f"{name}?capture={request.capture}", response

    return Tool(name, make_routes, explain, iter_static)


def make_tools_response(tools: Iterable[Tool], capture: LoadedCapture) -> ToolsResponse:
    trace = capture.trace
    return ToolsResponse(
        [_make_tool_row(tool.name, _explain_empty_tool(tool, capture)) for tool in tools],
        [Sentence.make(problem) for problem in trace.problems],
        trace.is_partial,
        not trace.on_device.any(),
    )


def _explain_empty_tool(tool: Tool, capture: LoadedCapture) -> EmptyReason | None:
    """Return why a tool has nothing to show. Of a part of a file, nothing else is concluded."""
    reason = tool.explain_empty(capture)
    if reason is None or not capture.trace.is_partial:
        return reason
    return EmptyReason(
        Message(
            "profile.partial_empty",
            "The readable part of this file has nothing to show here.",
        ),
        Message("profile.partial_empty_hint", "The file is truncated or damaged. Copy it again."),
    )


def _make_tool_row(name: str, reason: EmptyReason | None) -> ToolRow:
    if reason is None:
        return ToolRow(name, None, None)
    hint = None if reason.hint is None else Sentence.make(reason.hint)
    return ToolRow(name, Sentence.make(reason.message), hint)


def explain_empty(capture: LoadedCapture) -> EmptyReason | None:
    """Return why a capture has no events; None if it has some."""
    if capture.file.kind == "snapshot":
        return EmptyReason(
            Message("profile.snapshot_only", "This is a memory snapshot, which has no events."),
            Message(
                "profile.snapshot_only_hint", "Record a trace as well, with torch.profiler.profile."
            ),
        )
    if capture.file.kind == "pprof":
        return EmptyReason(
            Message("profile.memory_only", "This is a memory profile, which has no times."),
            Message(
                "profile.memory_only_hint", "Record a trace as well: jax.profiler.trace(log_dir)."
            ),
        )
    if not len(capture.trace):
        return EmptyReason(
            Message("profile.empty", "Nothing was recorded."),
            Message("profile.empty_hint", "Record at least one step."),
        )
    return None
