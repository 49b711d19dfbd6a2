"""Read logs from Python: `open` returns a `Log`, which returns series, tables and values.

The package also holds the code behind ``tracklight export`` (`export`) and ``tracklight inspect``
(`summaries`). It may import `index`, `analysis` and what is below them, but no dashboards and no
server. Start reading at `log.py`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tracklight.errors import LogdirNotFoundError
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import (
    LogdirSpec,
    Root,
    find_nearest_path,
    is_url,
    open_filesystem,
    parse_roots,
)
from tracklight.reader.log import Log, RunView
from tracklight.reader.tables import LogChanges, Table, Values, WideTable
from tracklight.util.memory import parse_bytes

if TYPE_CHECKING:
    from tracklight.analysis.meshes import Mesh
    from tracklight.analysis.pr_curves import PRCurve
    from tracklight.reader.graph import Edge, Graph, Node
    from tracklight.reader.hparams import HParamsTable, Trial


__all__ = [
    "Edge",
    "Graph",
    "HParamsTable",
    "Log",
    "LogChanges",
    "Mesh",
    "Node",
    "PRCurve",
    "RunView",
    "Table",
    "Trial",
    "Values",
    "WideTable",
    "open",
]

#: Imported on first use: programs that read scalars start a third faster without them.
_LAZY = {
    "Edge": "tracklight.reader.graph",
    "Graph": "tracklight.reader.graph",
    "HParamsTable": "tracklight.reader.hparams",
    "Mesh": "tracklight.analysis.meshes",
    "Node": "tracklight.reader.graph",
    "PRCurve": "tracklight.analysis.pr_curves",
    "Trial": "tracklight.reader.hparams",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module 'tracklight.reader' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def open(
    logdir: LogdirSpec,
    *,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    cache: bool | str | os.PathLike[str] = True,
    memory: str | int = "2GB",
    missing_ok: bool = False,
) -> Log:
    """Open a log directory, or several, and read it.

    Args:
        logdir: A directory, an event file or a URL; several of them as ``"a:logs/a,b:logs/b"``, a
            list, or a mapping from names to paths.
        include: Patterns for run names; only matching runs are read.
        exclude: Patterns for run names; matching runs are skipped.
        cache: Whether to store the index in the user's cache directory, so that the next call reads
            only new data; or the directory to store it in.
        memory: Memory limit for points; points beyond it are kept on disk.
        missing_ok: Whether to accept a directory that does not exist yet. The log is empty until a
            later `Log.refresh` finds it.

    Returns:
        The log. Close it, or use it in a ``with`` block.

    Raises:
        LogdirNotFoundError: The directory does not exist; a subclass of ``FileNotFoundError``.
        UsageError: An argument is invalid.

    Example:
        >>> log = tracklight.open("logs")
        >>> log.runs
        ('resnet/train', 'resnet/validation')
    """
    catalog = create_catalog(logdir, include, exclude, cache, memory)
    log = Log(catalog)
    try:
        if not missing_ok:
            _check_roots_exist(catalog.roots)
        log.refresh()
    except BaseException:
        log.close()
        raise
    return log


def create_catalog(
    logdir: LogdirSpec,
    include: str | Iterable[str],
    exclude: str | Iterable[str],
    cache: bool | str | os.PathLike[str],
    memory: str | int,
) -> Catalog:
    """Create the index for the arguments of `open`; nothing is read yet."""
    return Catalog(
        parse_roots(logdir),
        include=_as_tuple(include),
        exclude=_as_tuple(exclude),
        cache=cache if isinstance(cache, bool) else Path(cache),
        memory_bytes=parse_bytes(memory),
    )


def _check_roots_exist(roots: Iterable[Root]) -> None:
    for root in roots:
        if not open_filesystem(root.path)[0].exists(root.path):
            nearest = None if is_url(root.path) else find_nearest_path(root.path)
            raise LogdirNotFoundError(_shorten(root.path), nearest and _shorten(nearest))


def _shorten(path: str) -> str:
    """Make a path below the working directory relative."""
    return path.removeprefix(os.getcwd() + os.sep)


def _as_tuple(patterns: str | Iterable[str]) -> tuple[str, ...]:
    return (patterns,) if isinstance(patterns, str) else tuple(patterns)
