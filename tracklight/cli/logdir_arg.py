"""What the flags name as the log; light, as every command line is asked for it."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tracklight.cli.parser import COMMANDS
from tracklight.cli.progress import read_byte_progress, show_progress
from tracklight.errors import LogError, UsageError
from tracklight.index.cache import find_cache_folder
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import open_filesystem
from tracklight.logdir.discover import PROJECTOR_CONFIG, discover
from tracklight.logdir.roots import Root, is_url, parse_roots
from tracklight.reader import Log
from tracklight.types import TagInfo
from tracklight.util.memory import parse_bytes

if TYPE_CHECKING:
    pass

LogdirArg = str | Path | list[str]


def find_logdir_arg(flags: Namespace) -> LogdirArg | None:
    """The log as it was named; UsageError if it was named in several ways."""
    specs = [flags.logdir, flags.logdir_spec, flags.directories, _find_event_file(flags)]
    # An empty one is TensorBoard's default, and says nothing.
    given = [spec for spec in specs if spec]
    if len(given) > 1:
        raise UsageError("give the log directory once: --logdir, --logdir_spec or as an argument")
    return given[0] if given else None


def _find_event_file(flags: Namespace) -> Path | None:
    path: str | None = getattr(flags, "event_file", None)
    if path and not os.path.isfile(path):
        raise UsageError(f'there is no event file "{path}"')
    return Path(path) if path else None


# Report log directories that do not exist, with the nearest name that does.

_MAX_ENTRIES = 1000

#: Similarity from which a name counts as a mistyped command; "demo-logs" is not "demo".
_MIN_COMMAND_SIMILARITY = 0.7


def list_missing(roots: Iterable[Root]) -> list[str]:
    """Return the paths of local log directories that do not exist."""
    paths = (root.path for root in roots)
    return [path for path in paths if not is_url(path) and not os.path.exists(path)]


def check_positional_paths(flags: Namespace) -> None:
    """Refuse positional paths that do not exist, which are mostly mistyped commands or names.

    A directory that is given by --logdir may be created later, as with TensorBoard.
    """
    for at, given in enumerate(flags.directories):
        for path in list_missing(parse_roots([given])):
            if at == 0:
                _check_command(given)
            raise LogError(
                f"{describe_missing(path)} "
                "To wait for a directory that does not exist yet, use --logdir."
            )


def describe_missing(path: str) -> str:
    """Say that a directory does not exist, and which similar one does."""
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
    for near in _list_similar(name, names, cutoff=0.6):
        found = os.path.join(parent, near)
        whole = os.path.join(found, *below)
        return f' Did you mean "{_shorten(whole if os.path.exists(whole) else found)}"?'
    return ""


def suggest_name(name: str, known: Iterable[str], cutoff: float = 0.6, *, prefix: str = "") -> str:
    """Return `` Did you mean "…"?`` for the known name nearest to another one, or ""."""
    for near in _list_similar(name, list(known), cutoff):
        return f' Did you mean "{prefix}{near}"?'
    return ""


def _check_command(given: str) -> None:
    if given in COMMANDS:
        raise UsageError(f"the command comes before its flags: tracklight {given} …")
    suggestion = suggest_name(given, COMMANDS, _MIN_COMMAND_SIMILARITY)
    if suggestion:
        raise UsageError(f'there is no command or directory "{given}".{suggestion}')


def _list_similar(name: str, known: Sequence[str], cutoff: float) -> list[str]:
    import difflib  # only for mistakes

    by_lower = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=cutoff)
    return [by_lower[one] for one in found]


def _shorten(path: str) -> str:
    """Show a path below the current directory as a relative one."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive of Windows
        return path
    return path if relative.startswith(os.pardir) else relative


# The log that the flags name.


def create_catalog(flags: Namespace, extra_roots: Mapping[str, Path] | None = None) -> Catalog:
    """The log that is named, and beside it ``more`` directories by their names."""
    roots = _parse_all_roots(find_logdir_arg(flags), extra_roots or {})
    if (
        flags.cache_dir
        and find_cache_folder((root.path for root in roots), flags.cache_dir) is None
    ):
        raise UsageError(f'"{flags.cache_dir}" is in the log directory, where nothing is written')
    return Catalog(
        roots,
        include=flags.include,
        exclude=flags.exclude,
        cache=flags.cache_dir if flags.cache and flags.cache_dir else flags.cache,
        cache_bytes=parse_bytes(flags.cache_size),
        memory_bytes=parse_bytes(flags.memory),
    )


def _parse_all_roots(given: LogdirArg | None, more: Mapping[str, Path]) -> tuple[Root, ...]:
    if given is None and not more:
        raise UsageError("no log directory was given: tracklight --logdir DIR")
    roots = () if given is None else parse_roots(given)
    if not more:
        return roots
    if not roots and len(more) == 1:
        return parse_roots(*more.values())
    own = [f"{root.name}:{root.path}" if root.name else Path(root.path) for root in roots]
    return parse_roots([*own, *(f"{name}:{path}" for name, path in more.items())])


@contextmanager
def open_log(flags: Namespace, *, needs_runs: bool = True) -> Iterator[Log]:
    """Open the log that the flags name, and print what could not be read of it.

    LogError if a log directory cannot be read at all, or if there is nothing in it. With
    ``needs_runs`` false, embeddings without any run are something, too.
    """
    catalog = create_catalog(flags)
    for path in list_missing(catalog.roots):
        raise LogError(describe_missing(path))
    with Log(catalog) as log:
        with show_progress("reading", lambda: read_byte_progress(catalog)):
            log.refresh()
        failed = catalog.failed_roots
        if failed:
            raise LogError(join_problems(failed))
        if not log.runs and (needs_runs or not catalog.tensor_files()):
            raise LogError(_explain_no_runs(log, flags))
        for problem in log.problems:
            print(f"tracklight: {problem}", file=sys.stderr)
        yield log


def _explain_no_runs(log: Log, flags: Namespace) -> str:
    if flags.include or flags.exclude:
        return f"no run in {format_roots(log)} is left by --include and --exclude"
    embeddings = "; `tracklight inspect --embeddings` lists its embeddings"
    has_embeddings = any(
        file.path.endswith(PROJECTOR_CONFIG) for file in log.catalog.tensor_files()
    )
    return f"no event files in {format_roots(log)}{embeddings if has_embeddings else ''}"


def format_roots(log: Log) -> str:
    return ", ".join(f'"{root.path}"' for root in log.roots)


def join_problems(problems: Sequence[str]) -> str:
    more = f" (and {len(problems) - 1:,} more problems)" if len(problems) > 1 else ""
    return problems[0] + more


def check_roots(roots: Sequence[Root]) -> None:
    """Raise LogError if nothing was found because a log directory cannot be read."""
    for root in roots:
        if not is_url(root.path) and not os.path.exists(root.path):
            raise LogError(f'there is no directory "{root.path}"')
        problems = discover(root, open_filesystem(root.path)[0]).problems
        if problems:
            raise LogError(join_problems(problems))


def select_tags(log: Log, flags: Namespace) -> Selection:
    """The runs and tags that were asked for; at least one of each if any were."""
    chosen: Selection = log.select(flags.run, flags.tag)
    if flags.run and not chosen:
        raise LogError(f"no run matches {' or '.join(flags.run)}")
    if flags.tag:
        chosen = {run: tags for run, tags in chosen.items() if tags}
        if not chosen:
            raise LogError(f"no tag matches {' or '.join(flags.tag)}")
    return chosen


Selection = Mapping[str, Sequence[TagInfo]]
