"""Resolve the log directory given on the command line, and open it, with a progress bar.

A log directory is given as a positional argument, by ``--logdir``, by ``--logdir_spec`` or by
``--event_file``. `create_catalog` creates the index for it, and `open_log` reads it. The progress
bar is shown on a terminal only.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tracklight.cli.parser import COMMANDS
from tracklight.errors import LogError, UsageError

if TYPE_CHECKING:
    from tracklight.index.catalog import Catalog
    from tracklight.logdir.access import Root
    from tracklight.reader import Log
    from tracklight.types import TagInfo

# ---- the progress bar

#: Returns the amounts done and in total; None ends the bar.
ReadProgress = Callable[[], tuple[int, int] | None]

_REDRAW_S = 0.1
_BLOCKS = " ▏▎▍▌▋▊▉█"


class ProgressCounter:
    """Counts finished work for `show_progress`."""

    def __init__(self, total: int) -> None:
        self._done = 0
        self._total = total

    def add(self, amount: int) -> None:
        self._done += amount

    def read(self) -> tuple[int, int]:
        return self._done, self._total


@contextmanager
def show_progress(title: str, read: ReadProgress, stream: TextIO | None = None) -> Iterator[None]:
    """Draw a progress bar while the block runs.

    Args:
        title: Text before the bar.
        read: Called for each redraw, in another thread.
        stream: Where to draw; by default standard error.
    """
    out = stream or sys.stderr
    if not out.isatty():
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=_draw, args=(title, read, out, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def show_loading(catalog: Catalog, stream: TextIO) -> AbstractContextManager[None]:
    """Draw a progress bar until the log has been read for the first time."""

    def read() -> tuple[int, int] | None:
        done, total = read_byte_progress(catalog)
        return None if catalog.version or done >= total > 0 else (done, total)

    return show_progress("reading", read, stream)


def read_byte_progress(catalog: Catalog) -> tuple[int, int]:
    progress = catalog.progress
    return progress.bytes_done, progress.bytes_total


def _draw(title: str, read: ReadProgress, out: TextIO, stop: threading.Event) -> None:
    started_s = time.monotonic()
    is_drawn = False
    while not stop.wait(_REDRAW_S) and (state := read()) is not None:
        if state[1]:
            out.write("\r" + format_bar(title, *state, time.monotonic() - started_s))
            out.flush()
            is_drawn = True
    if is_drawn:
        out.write("\r\x1b[K")  # erase the line
        out.flush()


def format_bar(title: str, done: int, total: int, elapsed_s: float) -> str:
    """Format the bar with the percentage and, once it can be estimated, the remaining time."""
    fraction = min(1.0, done / total) if total else 0.0
    remaining = f"{elapsed_s / fraction - elapsed_s:,.0f} s left" if fraction > 0.01 else ""
    width = max(10, min(40, shutil.get_terminal_size().columns - len(title) - 24))
    return f"{title} {_format_blocks(fraction, width)} {fraction:4.0%} {remaining:<14}"


def _format_blocks(fraction: float, width: int) -> str:
    eighths = round(fraction * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_BLOCKS[rest] if full < width else "")).ljust(width)


# ---- the log directory

LogdirArg = str | Path | list[str]

#: The selected tags of each selected run.
Selection = Mapping[str, "Sequence[TagInfo]"]

#: Directory entries that are compared with a mistyped name.
_MAX_ENTRIES = 1000
#: Similarity from which a name counts as a mistyped command; "demo-logs" is not "demo".
_MIN_COMMAND_SIMILARITY = 0.7


def find_logdir_arg(flags: Namespace) -> LogdirArg | None:
    """Return the log directory as it was given, or None.

    Raises:
        UsageError: It was given in more than one way.
    """
    specs = [flags.logdir, flags.logdir_spec, flags.directories, _find_event_file(flags)]
    # Empty values are ignored: they are TensorBoard's defaults.
    given = [spec for spec in specs if spec]
    if len(given) > 1:
        raise UsageError("give the log directory once: --logdir, --logdir_spec or as an argument")
    return given[0] if given else None


def _find_event_file(flags: Namespace) -> Path | None:
    path: str | None = getattr(flags, "event_file", None)
    if path and not os.path.isfile(path):
        raise UsageError(f'there is no event file "{path}"')
    return Path(path) if path else None


def create_catalog(flags: Namespace, extra_roots: Mapping[str, Path] | None = None) -> Catalog:
    """Create the index for the log directory and cache flags; nothing is read yet.

    Args:
        flags: The parsed command line.
        extra_roots: Further log directories by name.

    Raises:
        UsageError: No log directory was given, or a flag is invalid.
    """
    from tracklight.index.cache import find_cache_folder
    from tracklight.index.catalog import Catalog
    from tracklight.util.memory import parse_bytes

    roots = _parse_all_roots(find_logdir_arg(flags), extra_roots or {})
    paths = [root.path for root in roots]
    if flags.cache_dir and find_cache_folder(paths, flags.cache_dir) is None:
        raise UsageError(
            f'--cache-dir "{flags.cache_dir}" is inside the log directory, which is never written '
            "to; choose a directory outside"
        )
    cache_bytes, memory_bytes = parse_bytes(flags.cache_size), parse_bytes(flags.memory)
    shared_cache = getattr(flags, "shared_cache", None)
    if shared_cache and not flags.cache:
        raise UsageError("--shared-cache needs the cache; give only one of it and --no-cache")
    if shared_cache and "://" not in shared_cache:
        shared_cache = os.path.abspath(shared_cache)
    cluster = None
    if getattr(flags, "cluster", None):
        from tracklight.index.cluster.connection import Cluster, parse_cluster

        address = parse_cluster(flags.cluster, flags.cluster_shards)
        cluster = Cluster(address, flags.cluster_timeout)
    return Catalog(
        roots,
        include=flags.include,
        exclude=flags.exclude,
        cache=flags.cache_dir if flags.cache and flags.cache_dir else flags.cache,
        cache_bytes=cache_bytes,
        memory_bytes=memory_bytes,
        cluster=cluster,
        shared_cache=shared_cache,
    )


def _parse_all_roots(given: LogdirArg | None, extra: Mapping[str, Path]) -> tuple[Root, ...]:
    from tracklight.logdir.access import parse_roots

    if given is None and not extra:
        raise UsageError("no log directory was given: tracklight --logdir DIR")
    roots = () if given is None else parse_roots(given)
    if not extra:
        return roots
    if not roots and len(extra) == 1:
        return parse_roots(*extra.values())
    own = [f"{root.name}:{root.path}" if root.name else Path(root.path) for root in roots]
    return parse_roots([*own, *(f"{name}:{path}" for name, path in extra.items())])


@contextmanager
def open_log(flags: Namespace, *, needs_runs: bool = True) -> Iterator[Log]:
    """Read the log given by the flags, and print the problems found while reading.

    Args:
        flags: The parsed command line.
        needs_runs: Whether a log without runs is an error even if it holds embeddings or
            evaluations or studies, or if ``--data-dir`` is given.

    Raises:
        LogError: A log directory does not exist, cannot be read, or is empty.
    """
    from tracklight.reader import Log

    catalog = create_catalog(flags)
    for path in list_missing(catalog.roots):
        raise LogError(describe_missing(path))
    with Log(catalog) as log:
        with show_progress("reading", lambda: read_byte_progress(catalog)):
            log.refresh()
        failed = catalog.failed_roots
        if failed:
            raise LogError(join_problems(failed))
        data_dirs = getattr(flags, "data_dir", ())
        has_files = (
            catalog.tensor_files()
            or catalog.evaluation_files()
            or catalog.study_files()
            or data_dirs
        )
        if not log.runs and (needs_runs or not has_files):
            raise LogError(_explain_no_runs(log, flags))
        for problem in log.problems:
            print(f"tracklight: {problem}", file=sys.stderr)
        yield log


def select_tags(log: Log, flags: Namespace) -> Selection:
    """Return the tags that match ``--run`` and ``--tag``.

    Raises:
        LogError: ``--run`` or ``--tag`` matches nothing.
    """
    selection: Selection = log.select(flags.run, flags.tag)
    if flags.run and not selection:
        raise LogError(f"no run matches {' or '.join(flags.run)}")
    if flags.tag:
        selection = {run: tags for run, tags in selection.items() if tags}
        if not selection:
            raise LogError(f"no tag matches {' or '.join(flags.tag)}")
    return selection


def check_roots(roots: Sequence[Root]) -> None:
    """Raise LogError if a log directory does not exist or cannot be listed."""
    from tracklight.logdir.access import open_filesystem
    from tracklight.logdir.discover import discover

    for path in list_missing(roots):
        raise LogError(describe_missing(path))
    for root in roots:
        problems = discover(root, open_filesystem(root.path)[0]).problems
        if problems:
            raise LogError(join_problems(problems))


def _explain_no_runs(log: Log, flags: Namespace) -> str:
    from tracklight.logdir.discover import PROJECTOR_CONFIG

    if flags.include or flags.exclude:
        return f"--include and --exclude leave no run of {format_roots(log)}"
    files = log.catalog.tensor_files()
    has_embeddings = any(file.path.endswith(PROJECTOR_CONFIG) for file in files)
    hint = "; `tracklight inspect --embeddings` lists its embeddings" if has_embeddings else ""
    return f"no event files in {format_roots(log)}{hint}"


def format_roots(log: Log) -> str:
    return ", ".join(f'"{root.path}"' for root in log.roots)


def join_problems(problems: Sequence[object]) -> str:
    """Return the first problem, and how many more there are."""
    more = f" (and {len(problems) - 1:,} more problems)" if len(problems) > 1 else ""
    return f"{problems[0]}{more}"


def list_missing(roots: Iterable[Root]) -> list[str]:
    """Return the paths of local log directories that do not exist."""
    from tracklight.logdir.access import is_url

    paths = (root.path for root in roots)
    return [path for path in paths if not is_url(path) and not os.path.exists(path)]


def check_positional_paths(flags: Namespace) -> None:
    """Raise an error for positional paths that do not exist: most are mistyped commands or names.

    A directory given by --logdir may be created later, as with TensorBoard.
    """
    from tracklight.logdir.access import parse_roots

    for index, given in enumerate(flags.directories):
        for path in list_missing(parse_roots([given])):
            if index == 0:
                _check_command(given)
            raise LogError(
                f"{describe_missing(path)} "
                "To wait for a directory that does not exist yet, use --logdir."
            )


def _check_command(given: str) -> None:
    if given in COMMANDS:
        raise UsageError(f"the command comes before its flags: tracklight {given} …")
    suggestion = suggest_name(given, COMMANDS, _MIN_COMMAND_SIMILARITY)
    if suggestion:
        raise UsageError(f'there is no command or directory "{given}".{suggestion}')


def describe_missing(path: str) -> str:
    """Return an error message for a missing directory, with a suggestion if there is one."""
    return f'there is no directory "{_shorten(path)}".{suggest_path(path)}'


def suggest_path(path: str) -> str:
    """Return `` Did you mean "…"?`` for the existing path nearest to a missing one, or ""."""
    parent, name = os.path.split(path.rstrip(os.sep))
    below: list[str] = []
    while parent and not os.path.isdir(parent) and parent != os.path.dirname(parent):
        below.insert(0, name)
        parent, name = os.path.split(parent)
    try:
        with os.scandir(parent) as entries:
            names = [entry.name for entry in islice(entries, _MAX_ENTRIES)]
    except OSError:
        return ""
    similar = _find_similar(name, names, cutoff=0.6)
    if similar is None:
        return ""
    found = os.path.join(parent, similar)
    full = os.path.join(found, *below)
    return f' Did you mean "{_shorten(full if os.path.exists(full) else found)}"?'


def suggest_name(name: str, known: Iterable[str], cutoff: float = 0.6, *, prefix: str = "") -> str:
    """Return `` Did you mean "…"?`` for the known name nearest to another one, or ""."""
    similar = _find_similar(name, known, cutoff)
    return "" if similar is None else f' Did you mean "{prefix}{similar}"?'


def _find_similar(name: str, known: Iterable[str], cutoff: float) -> str | None:
    import difflib  # only needed for error messages

    by_lower = {item.lower(): item for item in known}
    matches = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=cutoff)
    return by_lower[matches[0]] if matches else None


def _shorten(path: str) -> str:
    """Make a path below the current directory relative."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # on another drive (Windows)
        return path
    return path if relative.startswith(os.pardir) else relative


def parse_data_dirs(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the absolute paths of ``--data-dir``.

    Raises:
        UsageError: One of them is not a directory.
    """
    for path in paths:
        if not path.is_dir():
            raise UsageError(f'--data-dir: "{path}" is not a directory')
    return tuple(str(path.resolve()) for path in paths)
