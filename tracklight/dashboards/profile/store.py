"""The captures of a log, when they were taken, and which step their runs had come to."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import msgspec
import numpy as np

from tracklight.analysis import profiles
from tracklight.analysis.profiles.captures.files import (
    SESSION_FORMAT,
    get_capture_time_s,
    iter_capture_groups,
    open_capture,
)
from tracklight.analysis.profiles.ops import EventOps, OpStats, assign_ops, compute_op_stats
from tracklight.analysis.profiles.steps import (
    StepAnalysis,
    StepRules,
    Steps,
    analyze_steps,
)
from tracklight.analysis.profiles.trace import Framework, Trace, detect_framework, make_empty_trace
from tracklight.analysis.profiles.xla_programs import (
    InstructionMap,
    XlaProgram,
    list_programs,
    map_instructions,
)
from tracklight.analysis.profiles.xprof import compute_xprof_op_stats
from tracklight.dashboards.profile.schemas import (
    CaptureRequest,
    CaptureRow,
    CapturesResponse,
    HostRow,
    OpeningResponse,
    ToolRow,
    ToolsResponse,
    make_baseline_request,
)
from tracklight.errors import LogError, TracklightError
from tracklight.plugin import Context, Problem, Route, Source
from tracklight.types import CaptureFile, Kind, Series
from tracklight.util.file_cache import FileCache
from tracklight.util.hashing import hash_key
from tracklight.util.lru_cache import LruCache


class CaptureListing:
    """Finds captures again only when the log has changed."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._cached: tuple[int, dict[str, list[CaptureFile]]] | None = None

    def list_captures(self) -> CapturesResponse:
        cursor = self._context.cursor()
        steps = _RunSteps(self._context.log)
        rows = [_make_capture_row(key, files, steps) for key, files in self._get_groups().items()]
        return CapturesResponse(cursor, rows)

    def get_files(self, capture: str) -> list[CaptureFile]:
        files = self._get_groups().get(capture)
        if files is None:
            raise LogError("the log no longer has this capture; load the page again")
        return files

    def get_file(self, capture: str, host: str) -> CaptureFile:
        files = self.get_files(capture)
        found = next((file for file in files if host in ("", file.host)), None)
        if found is None:
            raise LogError(f'this capture has nothing of a host "{host}"')
        return found

    def _get_groups(self) -> dict[str, list[CaptureFile]]:
        version = self._context.log.version
        kept = self._cached
        if kept is None or kept[0] != version:
            self._cached = kept = version, dict(iter_capture_groups(self._context.log.captures()))
        return kept[1]


def _make_capture_row(key: str, files: Sequence[CaptureFile], steps: _RunSteps) -> CaptureRow:
    first = files[0]
    wall_s = get_capture_time_s(first)
    return CaptureRow(
        id=key,
        run=first.run,
        session=first.session,
        title=_make_title(first.session, wall_s),
        kind=first.kind,
        wall_s=wall_s,
        step=steps.find_step(first.run, wall_s),
        bytes=sum(file.bytes for file in files),
        mark=zlib.crc32("".join(file.version for file in files).encode()),
        hosts=[HostRow(file.host, file.bytes) for file in files],
    )


def _make_title(session: str, wall_s: float) -> str:
    """What somebody called it, else when it was taken."""
    try:
        taken = datetime.strptime(session, SESSION_FORMAT)
    except ValueError:
        if not session.isdigit():
            return session
        taken = datetime.fromtimestamp(wall_s)
    return taken.strftime("%Y-%m-%d %H:%M:%S")


class _RunSteps:
    """Which step runs had come to, by the scalar that each logged most often."""

    def __init__(self, log: Source) -> None:
        self._log = log
        self._series: dict[str, Series | None] = {}

    def find_step(self, run: str, wall_s: float) -> int | None:
        if run not in self._series:
            self._series[run] = self._read(run)
        series = self._series[run]
        if series is None:
            return None
        before = np.flatnonzero(series.wall_time <= wall_s)
        return int(series.step[before[-1]]) if len(before) else None

    def _read(self, run: str) -> Series | None:
        scalars = [info for info in self._log.tags(run) if info.kind is Kind.SCALAR]
        if not scalars:
            return None
        return self._log.scalar(
            run, max(scalars, key=lambda info: info.count).tag
        ).without_overwritten()


# A trace that is at hand, with what was derived from it.

Derived = TypeVar("Derived")

_EVENT_BYTES = 28

_NAME_BYTES = 100

#: Of more markers than this, the steps of those chosen first are forgotten.
_MAX_DERIVED = 64


class LoadedCapture:
    """One host's part of a capture; may be asked from any thread."""

    def __init__(self, file: CaptureFile, trace: Trace) -> None:
        self.file = file
        self.trace = trace
        self._derived: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    @property
    def memory_bytes(self) -> int:
        """About what it takes in memory, and what is derived from it as much again."""
        said = sum(column.nbytes for column in self.trace.args)
        held = self.file.bytes if self.file.kind == "xplane" else 0
        columns = 2 * (said + _EVENT_BYTES * len(self.trace))
        return columns + _NAME_BYTES * len(self.trace.names) + held

    @property
    def framework(self) -> Framework:
        return self.get_or_compute("framework", lambda: detect_framework(self.trace))

    def analyze_steps(self, marker: str = "", rules: StepRules = "ours") -> StepAnalysis:
        """The steps, and what their time went into."""
        return self.get_or_compute(
            ("divide", marker, rules), lambda: analyze_steps(self.trace, marker, rules)
        )

    def get_steps(self, marker: str = "") -> Steps:
        return self.analyze_steps(marker).steps

    def get_or_compute(self, key: Hashable, compute: Callable[[], Derived]) -> Derived:
        """What was made under this key before, or is now; by one thread at a time."""
        with self._lock:
            if key not in self._derived:
                self._derived[key] = compute()
                while len(self._derived) > _MAX_DERIVED:
                    del self._derived[next(iter(self._derived))]
            return cast(Derived, self._derived[key])


def load_file(file: CaptureFile, path: Path, on_progress: Callable[[float], None]) -> LoadedCapture:
    """Read a capture; profiles of memory have no trace."""
    trace = make_empty_trace() if file.kind == "pprof" else open_capture(path, on_progress)
    return LoadedCapture(file, trace)


# Cache results of slow analyses in the cache folder, so that the next server has them.
#
# The key of a result names everything that it depends on. A result that cannot be read is computed
# again.

Result = TypeVar("Result")

_MAX_FILES = 500


class ResultCache:
    """Results by key. Without a folder, every one is computed again."""

    def __init__(self, folder: Path | None) -> None:
        self._cache = None if folder is None else FileCache(folder, max_files=_MAX_FILES)

    def get_or_compute(
        self, key: str, type_: type[Result], compute: Callable[[], Result]
    ) -> Result:
        """Return the result of a key as a struct of that kind; compute and keep it if needed."""
        if self._cache is None:
            return compute()
        name = f"{_get_code_version()} {type_.__qualname__} {key}"
        content = self._cache.find(name)
        found = None if content is None else _decode(content, type_)
        if found is None:
            found = compute()
            self._cache.put(name, msgspec.msgpack.encode(found, enc_hook=_write_column))
        return found


@cache
def _get_code_version() -> str:
    """Return a text that changes whenever the code that computes results may have changed."""
    folders = (Path(__file__).parent, Path(profiles.__file__).parent)
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    stats = [(path.name, path.stat()) for path in files]
    return hash_key(repr([(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]))


def _decode(content: bytes, kind: type[Result]) -> Result | None:
    """Return a result, or None if the content is damaged."""
    try:
        return msgspec.msgpack.decode(content, type=kind, dec_hook=_read_column)
    except (msgspec.DecodeError, ValueError, TypeError):
        return None


def _write_column(value: Any) -> object:
    if not isinstance(value, np.ndarray):
        raise NotImplementedError(f"{type(value).__name__} is no column")
    return [value.dtype.str, value.tobytes()]


def _read_column(_: type, value: Any) -> object:
    dtype, content = value
    return np.frombuffer(content, np.dtype(dtype))


# The captures that were looked at last, ready for the next ask, and what was found out of them.

#: What traces take in memory, together.
_MAX_CACHED_BYTES = 1 << 30

_IDLE_S = 600.0

Response = TypeVar("Response")


class CaptureStore:
    """May be asked from any thread; a capture is read by one of them, and others wait for it."""

    def __init__(self, context: Context) -> None:
        self.listing = CaptureListing(context)
        self._context = context
        folder = context.log.cache_folder
        self._results = ResultCache(folder / "profiles" if folder else None)
        self._loaded: LruCache[str, LoadedCapture] = LruCache(
            max_bytes=_MAX_CACHED_BYTES, idle_s=_IDLE_S, keep_oversized=True
        )
        self._progress: dict[str, float] = {}
        self._problems: dict[str, Problem] = {}

    def load(self, request: CaptureRequest) -> LoadedCapture:
        """The trace of one host of a capture, read if it is not at hand."""
        file = self.listing.get_file(request.capture, request.host)
        return self._loaded.get_or_build(
            _make_key(file), lambda: self._read(file), lambda opened: opened.memory_bytes
        )

    def load_baseline(self, request: CaptureRequest) -> LoadedCapture | None:
        """The same of the capture that is compared with, if there is one."""
        return self.load(make_baseline_request(request)) if request.before else None

    def get_or_compute(
        self,
        request: CaptureRequest,
        name: str,
        type_: type[Response],
        compute: Callable[[LoadedCapture], Response],
    ) -> Response:
        """What was made of a capture before, by this process or another; else it is made now.

        ``what`` has to tell this answer from all others of the same capture.
        """
        file = self.listing.get_file(request.capture, request.host)
        key = f"{_make_key(file)} {name} {request.marker} {request.rules} {request.thresholds}"
        return self._results.get_or_compute(key, type_, lambda: compute(self.load(request)))

    @contextmanager
    def open_file(self, request: CaptureRequest) -> Iterator[Path]:
        """The file itself, as one on this machine."""
        file = self.listing.get_file(request.capture, request.host)
        with self._context.log.fetch_capture(file) as path:
            yield path

    def get_opening(self, request: CaptureRequest) -> OpeningResponse:
        file = self.listing.get_file(request.capture, request.host)
        key = _make_key(file)
        share, problem = self._progress.get(key), self._problems.get(key)
        if share is not None:
            return OpeningResponse("opening", share, f"reading {file.bytes / 1e6:,.0f} MB", None)
        if problem is not None:
            return OpeningResponse("failed", None, problem.message, problem)
        is_ready = self._loaded.find(key) is not None
        return OpeningResponse("ready" if is_ready else "idle", None, "", None)

    def _read(self, file: CaptureFile) -> LoadedCapture:
        key = _make_key(file)

        def tell(share: float) -> None:
            self._progress[key] = share

        tell(0.0)
        try:
            with self._context.log.fetch_capture(file) as path:
                opened = load_file(file, path, tell)
            self._problems.pop(key, None)
            return opened
        except (TracklightError, OSError) as error:
            self._problems[key] = self._context.describe_error(error)
            raise
        finally:
            del self._progress[key]


def _make_key(file: CaptureFile) -> str:
    return f"{file.path} {file.version}"


# Which instruction and which op each event is: several tools ask, and it takes long to find.


def get_programs(capture: LoadedCapture) -> list[XlaProgram]:
    return capture.get_or_compute("programs", lambda: list_programs(capture.trace))


def get_instructions(capture: LoadedCapture) -> InstructionMap:
    return capture.get_or_compute(
        "placement", lambda: map_instructions(capture.trace, get_programs(capture))
    )


def get_event_ops(capture: LoadedCapture) -> EventOps:
    return capture.get_or_compute(
        "naming", lambda: assign_ops(capture.trace, get_instructions(capture))
    )


def get_op_stats(capture: LoadedCapture, rules: StepRules = "ours") -> OpStats:
    if rules == "xprof":
        return capture.get_or_compute("ops of xprof", lambda: compute_xprof_op_stats(capture.trace))
    return capture.get_or_compute(
        "ops", lambda: compute_op_stats(capture.trace, get_event_ops(capture))
    )


# What a tool is that a capture is looked at with; each is a module of this folder.


class EmptyReason(NamedTuple):
    """Why a tool has nothing to show of a capture, and what would give it something."""

    message: str
    hint: str = ""


class Tool(NamedTuple):
    """What one tool adds to the dashboard."""

    name: str
    title: str
    make_routes: Callable[[CaptureStore], Sequence[Route]]
    explain_empty: Callable[[LoadedCapture], EmptyReason | None]
    """Why it is empty; None: it is not."""
    iter_static_responses: Callable[
        [CaptureStore, CaptureRequest], Iterable[tuple[str, object]]
    ] = lambda store, ask: ()
    """What a copy without a server knows of one capture: paths with their query, and answers."""


def make_tools_response(tools: Iterable[Tool], opened: LoadedCapture) -> ToolsResponse:
    explained = ((tool, tool.explain_empty(opened) or EmptyReason("")) for tool in tools)
    return ToolsResponse([ToolRow(tool.name, tool.title, *why) for tool, why in explained])


def explain_empty(opened: LoadedCapture) -> EmptyReason | None:
    """Why there are no events to say anything of."""
    if opened.file.kind == "pprof":
        return EmptyReason(
            "this is a profile of memory, which knows nothing of time",
            "record a trace as well: jax.profiler.trace(log_dir)",
        )
    return (
        None
        if len(opened.trace)
        else EmptyReason("nothing was recorded", "record at least one step")
    )
