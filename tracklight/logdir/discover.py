"""Find runs below a log directory, and the files that belong to them.

A directory that contains an event file (``tfevents`` in its name), a profiler capture or a dump of
TensorFlow's debugger is a run. The name of the run is its path relative to the root, with ``/`` on
every system; the root itself is ``.``, and a named root adds its name in front. Bytes of a
directory name that are not valid UTF-8 are shown as ``\\xNN``.

Files are recognized by their path alone, and nothing is opened but JSON files of local directories,
which may be traces under any name:

- Event files.
- Settings files with hyperparameters, such as ``hparams.yaml``, in or above a run.
- Profiler captures. TensorFlow and JAX write ``<run>/plugins/profile/<time>/<host>.xplane.pb``,
  PyTorch writes ``<run>/<worker>.<time>.pt.trace.json``, compressed or not. JAX saves memory
  profiles under a name chosen by the user; its documentation uses ``memory.prof``.
- Tensor files: checkpoints, arrays and projector configurations.
- Debug event files, ``tfdbg_events.<time>.<host>.<kind>``.
- Evaluations of TensorFlow Model Analysis: ``eval_config.json`` and the results beside it.
- Studies: storages of Optuna (databases, and journals with "optuna" or "journal" in their names),
  and result folders of Keras Tuner (``oracle.json`` above ``trial.json``) and Ray Tune
  (``result.json`` beside ``params.json``).
"""

from __future__ import annotations

import os
import re
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import Literal, NamedTuple

import msgspec

from tracklight.errors import Message
from tracklight.logdir import RunFilter, natural_key
from tracklight.logdir.access import Root, is_url
from tracklight.logdir.filesystem import FileStat, FileSystem, ListedFile
from tracklight.types import CaptureFile, CaptureKind, DebugEventFile

_EVENT_FILE_MARKER = "tfevents"

#: TensorFlow writes such a file only to make TensorBoard treat a directory with a profile as a run.
_EMPTY_PROFILE_SUFFIX = ".profile-empty"

#: Usual names of files with the hyperparameters of a run.
SETTINGS_FILE_NAMES = frozenset(
    {
        *("hparams.yaml", "hparams.yml", "hparams.json", "params.json"),
        *("args.yaml", "args.yml", "args.json", "config.yaml", "config.yml", "config.json"),
    }
)

#: TensorBoard's name for the configuration of the embedding projector.
PROJECTOR_CONFIG = "projector_config.pbtxt"

#: Files with tensors; ``.index`` belongs to a TensorFlow checkpoint.
TENSOR_SUFFIXES = (
    ".index",
    ".weights.h5",
    ".h5",
    ".hdf5",
    ".keras",
    ".safetensors",
    ".npy",
    ".npz",
    ".pt",
    ".pth",
    ".ckpt",
)

#: Files that a projector configuration may refer to: labels, and vectors as text or raw bytes.
_COMPANION_SUFFIXES = (".tsv", ".bytes")

#: The kinds of files of a debugger dump.
DEBUG_EVENT_KINDS = (
    "metadata",
    "source_files",
    "stack_frames",
    "graphs",
    "execution",
    "graph_execution_traces",
)
_DEBUG_EVENT_MARKER = "tfdbg_events."

#: Files in an evaluation folder of TensorFlow Model Analysis.
EVALUATION_CONFIG = "eval_config.json"
EvaluationFileKind = Literal["metrics", "plots", "attributions", "validations"]
_EVALUATION_FILE = re.compile(
    r"(metrics|plots|attributions|validations)(-\d+-of-\d+)?(\.tfrecord|\.parquet)?"
)

#: Files of Keras Tuner, for a search and for a trial.
KERAS_ORACLE, KERAS_TRIAL = "oracle.json", "trial.json"
#: Files of Ray Tune in the folder of a trial.
RAY_RESULT, RAY_PARAMS = "result.json", "params.json"
_RAY_STATE = re.compile(r"experiment_state-.*\.json")
_DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_JOURNAL = re.compile(r"(.*(optuna|journal).*\.(log|jsonl?|txt)|.*\.journal)", re.IGNORECASE)

_XPLANE_SUFFIX = ".xplane.pb"
_TRACE_SUFFIXES = (".pt.trace.json.gz", ".pt.trace.json", ".trace.json.gz", ".trace.json")
#: Traces that a program saved under a name of its own: ``trace.json``, ``my_trace_3.json.gz``.
_NAMED_TRACE = re.compile(r"(.*[._-])?(trace|kineto)([._-].*)?\.json(\.gz)?", re.IGNORECASE)
_JSON_SUFFIXES = (".json", ".json.gz")
#: The beginning of a Chrome trace: the list of events, alone or after some metadata.
_TRACE_CONTENT = re.compile(
    rb'\s*(\{(.*[{,\]}"\s])?"traceEvents"\s*:\s*\[|\[\s*\{[^{}]*"ph"\s*:\s*")', re.DOTALL
)
#: JSON files under other names are recognized as traces by this much of their content. Shorter ones
#: hold no trace worth showing, and of very many only the first are examined.
_EXAMINED_BYTES, _MIN_TRACE_BYTES, _MAX_EXAMINED_FILES = 1 << 15, 128, 1000
_MEMORY_PROFILE = re.compile(r"(.*\.pprof|(.*[._-])?memory[^/]*\.prof)(\.gz)?")
#: Snapshots of PyTorch's CUDA allocator; other pickles are not opened.
_MEMORY_SNAPSHOT = re.compile(r".*snapshot.*\.(pickle|pkl)", re.IGNORECASE)
_PICKLE_SUFFIXES = (".pickle", ".pkl")
_PROFILE_FOLDERS = ["plugins", "profile"]


class DiscoveredFile(NamedTuple):
    """A file and the run that it belongs to."""

    run: str
    path: str
    stat: FileStat


class ListedCapture(NamedTuple):
    """A profiler capture with the parts of its path."""

    directory: str
    """The directory of its run."""
    session: str
    host: str
    kind: CaptureKind
    file: ListedFile


class Discovery(msgspec.Struct, frozen=True):
    """The runs and files below one root at one point in time."""

    #: In natural order. A run with only profiler captures or a debugger dump has no event files.
    runs: list[str]
    #: Event files by run, and within a run by name, which is the order in which they were created.
    files: list[DiscoveredFile]
    #: Messages for the user.
    problems: list[Message]
    #: Directories that could not be listed; runs known to be below them may still exist.
    failed_directories: list[str]
    #: Targets of the symbolic links that were followed.
    linked: frozenset[str]
    #: Settings files in the directory of a run or above it; ``run`` is the name of that directory.
    settings: list[DiscoveredFile] = []
    #: Profiler captures by run and session.
    captures: list[CaptureFile] = []
    #: Tensor files and their companions; ``run`` as for settings files.
    tensors: list[DiscoveredFile] = []
    #: Files of debugger dumps, by run and path.
    debug_events: list[DebugEventFile] = []
    #: Files of evaluation folders; ``run`` as for settings files.
    evaluations: list[DiscoveredFile] = []
    #: Files with studies; ``run`` as for settings files.
    studies: list[DiscoveredFile] = []


def discover(
    root: Root, fs: FileSystem, include: Iterable[str] = (), exclude: Iterable[str] = ()
) -> Discovery:
    """Find the runs below a root; none if the root does not exist (yet).

    Args:
        root: The log directory.
        fs: The file system of the root.
        include: Patterns of runs to include, all if empty; see `tracklight.logdir`.
        exclude: Patterns of runs to exclude.
    """
    run_filter = RunFilter.parse(include, exclude)

    def is_excluded(relative: str) -> bool:
        return run_filter.excludes(root.get_run_name(_make_printable(relative)))

    # A file that is opened by itself may have any name.
    root_name = root.path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    opened_suffixes = (*_JSON_SUFFIXES, *_PICKLE_SUFFIXES)
    opened_file = root_name if root_name.endswith(opened_suffixes) else None

    suffixes = () if is_url(root.path) else _JSON_SUFFIXES

    def is_wanted(name: str) -> bool:
        return _is_relevant(name) or name == opened_file or name.endswith(suffixes)

    listing = fs.list_files(root.path, is_wanted, is_excluded)
    # A log may have 100,000 event files, and few files of other kinds.
    by_run: dict[str, list[ListedFile]] = {}
    others: list[ListedFile] = []
    for file in listing.files:
        if is_event_file(file.name):
            by_run.setdefault(root.get_run_name(_make_printable(file.directory)), []).append(file)
        else:
            others.append(file)
    traces = _list_unnamed_traces(others)
    captures = [
        capture
        for capture in _iter_capture_files(root, others, opened_file, traces)
        if run_filter.matches(capture.run)
    ]
    debug_events = [
        file for file in _iter_debug_event_files(root, others) if run_filter.matches(file.run)
    ]
    with_files = {file.run for file in captures} | {file.run for file in debug_events}
    runs = sorted({*filter(run_filter.matches, by_run), *with_files}, key=natural_key)
    return Discovery(
        runs=runs,
        files=[file for run in runs for file in _iter_event_files(run, by_run.get(run, []))],
        problems=listing.problems,
        failed_directories=listing.failed_directories,
        linked=frozenset(listing.linked),
        settings=list(_iter_settings_files(root, listing.files)),
        captures=captures,
        tensors=list(_iter_tensor_files(root, others)),
        debug_events=debug_events,
        evaluations=list(_iter_evaluation_files(root, others)),
        studies=list(_iter_study_files(root, others)),
    )


def is_event_file(name: str) -> bool:
    """Return whether a file of this base name makes its directory a run."""
    return _EVENT_FILE_MARKER in name


def is_capture(name: str) -> bool:
    """Return whether a file of this base name may be a profiler capture."""
    return name.endswith((_XPLANE_SUFFIX, *_TRACE_SUFFIXES)) or (
        _is_memory_profile(name) or _is_memory_snapshot(name) or _is_named_trace(name)
    )


def is_tensor_file(name: str) -> bool:
    """Return whether a file of this base name may hold tensors, or is a projector configuration."""
    return name == PROJECTOR_CONFIG or name.endswith(TENSOR_SUFFIXES)


def is_tensor_companion(name: str) -> bool:
    """Return whether a projector configuration may refer to a file of this base name."""
    return name.endswith(_COMPANION_SUFFIXES)


def is_debug_event_file(name: str) -> bool:
    """Return whether a file of this base name belongs to a dump of TensorFlow's debugger."""
    return _DEBUG_EVENT_MARKER in name and name.rpartition(".")[2] in DEBUG_EVENT_KINDS


def find_evaluation_file_kind(name: str) -> EvaluationFileKind | None:
    """Return what a file in an evaluation folder holds, by its base name."""
    match = _EVALUATION_FILE.fullmatch(name)
    return match[1] if match else None  # type: ignore[return-value]


def is_evaluation_file(name: str) -> bool:
    """Return whether a file of this base name may belong to an evaluation folder.

    These names are common. A folder is an evaluation if it has both the configuration and a result.
    """
    return name == EVALUATION_CONFIG or find_evaluation_file_kind(name) is not None


def is_database(name: str) -> bool:
    """Return whether a file of this base name may be a SQLite database."""
    return name.endswith(_DATABASE_SUFFIXES)


def is_ray_state(name: str) -> bool:
    """Return whether a file of this base name has the state of an experiment of Ray Tune."""
    return _RAY_STATE.fullmatch(name) is not None


def is_study_file(name: str) -> bool:
    """Return whether a file of this base name may belong to a study."""
    return (
        name in (KERAS_ORACLE, KERAS_TRIAL, RAY_RESULT, RAY_PARAMS)
        or _is_optuna_storage(name)
        or is_ray_state(name)
    )


def _is_optuna_storage(name: str) -> bool:
    return is_database(name) or _JOURNAL.fullmatch(name) is not None


def iter_ancestors(run: str) -> Iterator[str]:
    """Yield a run and the runs that may be above it; a root that is itself a run is ``.``.

    >>> list(iter_ancestors("a/b"))
    ['a/b', 'a', 'a/.', '.']
    """
    yield run
    while run:
        run = run.rpartition("/")[0]
        yield from (run, f"{run}/.") if run else (".",)


def iter_captures(
    files: Iterable[ListedFile], opened_file: str | None = None, traces: Iterable[str] = ()
) -> Iterator[ListedCapture]:
    """Yield the profiler captures among some files.

    JAX writes a Chrome trace beside each XPlane file, with the same content for other viewers;
    these traces are skipped.

    Args:
        files: All files of a log.
        opened_file: Name of a capture that is the only file of the log, whatever its name.
        traces: Paths of the traces under other names.
    """
    folders: dict[str, list[ListedFile]] = defaultdict(list)
    others = frozenset(traces)
    for file in files:
        is_opened = file.name == opened_file and not file.directory
        if is_capture(file.name) or is_opened or file.path in others:
            folders[file.directory].append(file)
    for directory, captures in folders.items():
        run_directory, session = _split_session(directory)
        has_xplane = any(file.name.endswith(_XPLANE_SUFFIX) for file in captures)
        for file in captures:
            is_copy = has_xplane and file.name.endswith(_TRACE_SUFFIXES)
            if session and not is_copy:
                yield _parse_capture_name(file)._replace(directory=run_directory, session=session)
            elif not session:
                capture = _parse_capture_name(file)
                yield capture._replace(session=capture.session or capture.host)


def _is_relevant(name: str) -> bool:
    return (
        is_event_file(name)
        or name in SETTINGS_FILE_NAMES
        or is_capture(name)
        or is_tensor_file(name)
        or is_tensor_companion(name)
        or is_debug_event_file(name)
        or is_evaluation_file(name)
        or is_study_file(name)
    )


def _iter_event_files(run: str, files: list[ListedFile]) -> Iterable[DiscoveredFile]:
    for file in sorted(files, key=attrgetter("name")):
        if not file.name.endswith(_EMPTY_PROFILE_SUFFIX):
            yield DiscoveredFile(run, file.path, file.stat)


def _iter_settings_files(root: Root, files: list[ListedFile]) -> Iterator[DiscoveredFile]:
    """Yield the settings files of directories that contain a run, directly or further below."""
    settings = [file for file in files if file.name in SETTINGS_FILE_NAMES]
    if not settings:
        return
    with_runs = {""}
    for file in files:
        if is_event_file(file.name):
            directory = file.directory
            while directory not in with_runs:
                with_runs.add(directory)
                directory = directory.rpartition("/")[0]
    for file in sorted(settings, key=attrgetter("path")):
        if file.directory in with_runs:
            yield _make_discovered(root, file)


def _iter_tensor_files(root: Root, files: list[ListedFile]) -> Iterator[DiscoveredFile]:
    """Yield tensor files and, if there are any, the files that may be their companions."""
    if any(is_tensor_file(file.name) for file in files):
        for file in files:
            if is_tensor_file(file.name) or is_tensor_companion(file.name):
                yield _make_discovered(root, file)


def _iter_evaluation_files(root: Root, files: list[ListedFile]) -> Iterator[DiscoveredFile]:
    """Yield the files of folders that have a configuration and at least one result."""
    folders: dict[str, list[ListedFile]] = defaultdict(list)
    for file in files:
        if is_evaluation_file(file.name):
            folders[file.directory].append(file)
    for members in folders.values():
        if len({file.name == EVALUATION_CONFIG for file in members}) == 2:
            yield from (_make_discovered(root, file) for file in members)


def _iter_study_files(root: Root, files: list[ListedFile]) -> Iterator[DiscoveredFile]:
    """Yield storages, and the files of result folders that are complete."""
    candidates = [file for file in files if is_study_file(file.name)]
    paths = {(file.directory, file.name) for file in candidates}
    experiments = {
        directory.rpartition("/")[0]
        for directory, name in paths
        if name == RAY_RESULT and (directory, RAY_PARAMS) in paths
    }
    searches = {directory for directory, name in paths if name == KERAS_ORACLE}
    for file in candidates:
        parent = file.directory.rpartition("/")[0] if file.directory else None
        is_found = (
            (file.name == KERAS_TRIAL and parent in searches)
            or file.name == KERAS_ORACLE
            or (file.name in (RAY_RESULT, RAY_PARAMS) and parent in experiments)
            or (is_ray_state(file.name) and file.directory in experiments)
            or _is_optuna_storage(file.name)
        )
        if is_found:
            yield _make_discovered(root, file)


def _iter_capture_files(
    root: Root, files: list[ListedFile], opened_file: str | None, traces: list[str]
) -> Iterator[CaptureFile]:
    """Yield the captures below a root in natural order of run, session and host."""
    captures = sorted(
        iter_captures(files, opened_file, traces),
        key=lambda item: (
            natural_key(item.directory),
            natural_key(item.session),
            natural_key(item.host),
        ),
    )
    for capture in captures:
        stat = capture.file.stat
        yield CaptureFile(
            run=root.get_run_name(_make_printable(capture.directory)),
            session=capture.session,
            host=capture.host,
            kind=capture.kind,
            path=capture.file.path,
            bytes=stat.size,
            mtime_s=stat.mtime_ns / 1e9,
            version=repr(stat),
        )


def _iter_debug_event_files(root: Root, files: list[ListedFile]) -> Iterator[DebugEventFile]:
    found = (file for file in files if is_debug_event_file(file.name))
    for file in sorted(found, key=lambda item: natural_key(item.path)):
        prefix, _, kind = file.path.rpartition(".")
        run = root.get_run_name(_make_printable(file.directory))
        yield DebugEventFile(run, prefix, kind, file.path, file.stat.size, repr(file.stat))


def _is_memory_profile(name: str) -> bool:
    return "prof" in name and _MEMORY_PROFILE.fullmatch(name) is not None


def _is_memory_snapshot(name: str) -> bool:
    return name.endswith(_PICKLE_SUFFIXES) and _MEMORY_SNAPSHOT.fullmatch(name) is not None


def _is_named_trace(name: str) -> bool:
    return ".json" in name and _NAMED_TRACE.fullmatch(name) is not None


def _list_unnamed_traces(files: list[ListedFile]) -> list[str]:
    """Return the paths of the JSON files whose name does not say that they are traces."""
    candidates = (
        file
        for file in files
        if file.name.endswith(_JSON_SUFFIXES)
        and not _is_relevant(file.name)
        and file.stat.size >= _MIN_TRACE_BYTES
    )
    examined = islice(candidates, _MAX_EXAMINED_FILES)
    return [file.path for file in examined if _has_trace_content(file.path, file.stat)]


@lru_cache(maxsize=4 * _MAX_EXAMINED_FILES)
def _has_trace_content(path: str, stat: FileStat) -> bool:
    """Return whether a local file begins like a trace; examined again when it has changed."""
    try:
        with open(path, "rb") as file:
            content = file.read(_EXAMINED_BYTES)
        if path.endswith(".gz"):
            content = zlib.decompressobj(wbits=31).decompress(content, _EXAMINED_BYTES)
    except (OSError, zlib.error):
        return False
    return _TRACE_CONTENT.match(content) is not None


def _parse_capture_name(file: ListedFile) -> ListedCapture:
    """Split the name of a capture into host and session; host names may contain dots."""
    if file.name.endswith(_XPLANE_SUFFIX):
        host = file.name.removesuffix(_XPLANE_SUFFIX)
        return ListedCapture(file.directory, "", host, "xplane", file)
    if file.name.endswith(_PICKLE_SUFFIXES):
        stem = file.name.rpartition(".")[0]
        return ListedCapture(file.directory, file.name, stem, "snapshot", file)
    suffixes = (*_TRACE_SUFFIXES, *_JSON_SUFFIXES[::-1])
    suffix = next((suffix for suffix in suffixes if file.name.endswith(suffix)), None)
    if suffix is None or _is_memory_profile(file.name):
        return ListedCapture(file.directory, file.name, "", "pprof", file)
    stem = file.name.removesuffix(suffix)
    host, _, session = stem.rpartition(".")
    if not session.isdigit():
        host, session = "", stem
    return ListedCapture(file.directory, session, host, "chrome", file)


def _split_session(directory: str) -> tuple[str, str]:
    """Split ``<run>/plugins/profile/<session>``; the session is empty for other directories."""
    *run, first, second, session = ["", "", "", *directory.split("/")]
    if [first, second] == _PROFILE_FOLDERS:
        return "/".join(run).strip("/"), session
    return directory, ""


def _make_discovered(root: Root, file: ListedFile) -> DiscoveredFile:
    run = root.get_run_name(_make_printable(file.directory))
    return DiscoveredFile(run, file.path, file.stat)


def _make_printable(relative: str) -> str:
    try:
        relative.encode()
    except UnicodeEncodeError:
        return os.fsencode(relative).decode("utf-8", "backslashreplace")
    return relative
