"""``tracklight inspect``: print what a log contains, as text or JSON.

The default is a listing of the files, corrupt records and tags of a log. Summaries of one kind of
data, such as graphs or profiles, are in `tracklight.reader.summaries`.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tracklight.cli.logdir_arg import (
    LogdirArg,
    Selection,
    check_roots,
    find_logdir_arg,
    open_log,
    select_tags,
)
from tracklight.cli.parser import EXIT_FAILURE
from tracklight.errors import UsageError
from tracklight.logdir import escape_unprintable
from tracklight.logdir.access import is_url, parse_roots
from tracklight.logdir.discover import is_event_file
from tracklight.reader.log import Log
from tracklight.types import DamageInfo, FileInfo, Int64, Stamp, TagInfo
from tracklight.util.files import to_json_number
from tracklight.util.html import format_count
from tracklight.util.memory import format_bytes


def inspect(flags: Namespace) -> int:
    """Print files and tags, or a summary of data of one kind, such as graphs or profiles."""
    if flags.graph:
        return _inspect_graphs(flags)
    if flags.profile:
        return _inspect_profiles(flags)
    if flags.embeddings:
        return _inspect_embeddings(flags)
    if flags.debugger:
        return _inspect_debugger(flags)
    if flags.fairness:
        return _inspect_evaluations(flags)
    with open_log(flags) as log:
        selection = select_tags(log, flags)
        if flags.json:
            _print_json(encode_listing(log, selection))
        else:
            _print_lines(iter_listing_lines(log, selection))
        return EXIT_FAILURE if log.problems else 0


def _inspect_graphs(flags: Namespace) -> int:
    from tracklight.reader import summaries

    model_file = _find_model_file(flags)
    problems: Sequence[str] = ()
    if model_file is not None:
        graphs = [summaries.summarize_graph_file(model_file)]
    else:
        with open_log(flags) as log:
            graphs = list(summaries.summarize_graphs(log, select_tags(log, flags)))
            problems = log.problems
    if flags.json:
        _print_json(summaries.encode_json(graphs=graphs))
    else:
        _print_lines(summaries.iter_graph_lines(graphs))
    return EXIT_FAILURE if problems else 0


def _inspect_profiles(flags: Namespace) -> int:
    from tracklight.reader import summaries

    roots = parse_roots(_get_logdir_arg(flags, "--profile"))
    if any(is_url(root.path) for root in roots):
        raise UsageError("profiles are read from local directories only; copy them here first")
    profiles = list(summaries.summarize_profiles(roots, with_tables=flags.json))
    if not profiles:
        check_roots(roots)
    if flags.json:
        _print_json(summaries.encode_json(profiles=profiles))
    else:
        _print_lines(summaries.iter_profile_lines(profiles))
    return 0


def _inspect_embeddings(flags: Namespace) -> int:
    from tracklight.reader import summaries

    given, tensor_file = _get_logdir_arg(flags, "--embeddings"), _find_model_file(flags)
    if tensor_file is not None:
        embeddings = list(summaries.summarize_tensor_file(str(tensor_file)))
    else:
        roots = parse_roots(given)
        embeddings = list(summaries.summarize_embeddings(roots))
        if not embeddings:
            check_roots(roots)
    if flags.json:
        _print_json(summaries.encode_json(embeddings=embeddings))
    else:
        _print_lines(summaries.iter_embedding_lines(embeddings))
    return 0


def _inspect_debugger(flags: Namespace) -> int:
    from tracklight.analysis.debugger.library import DebuggerLibrary
    from tracklight.reader import summaries

    with open_log(flags) as log:
        found = summaries.summarize_debugger(DebuggerLibrary(log.catalog))
        if flags.json:
            _print_json(summaries.encode_json(dumps=found))
        else:
            _print_lines(summaries.iter_debugger_lines(found))
        return EXIT_FAILURE if log.problems else 0


def _inspect_evaluations(flags: Namespace) -> int:
    from tracklight.reader import summaries

    with open_log(flags, needs_runs=False) as log:
        found = list(summaries.summarize_evaluations(log, select_tags(log, flags)))
        if flags.json:
            _print_json(summaries.encode_json(evaluations=found))
        else:
            _print_lines(summaries.iter_evaluation_lines(found))
        return EXIT_FAILURE if log.problems else 0


def _get_logdir_arg(flags: Namespace, mode: str) -> LogdirArg:
    given = find_logdir_arg(flags)
    if given is None:
        raise UsageError(f"no log directory was given: tracklight inspect {mode} --logdir DIR")
    return given


def _find_model_file(flags: Namespace) -> Path | None:
    """Return the given path if it is a single file other than an event file."""
    given = find_logdir_arg(flags)
    if isinstance(given, list):
        given = given[0] if len(given) == 1 else None
    is_model = given and os.path.isfile(given) and not is_event_file(os.path.basename(given))
    return Path(given) if given and is_model else None


def _print_json(data: bytes) -> None:
    sys.stdout.buffer.write(data + b"\n")


def _print_lines(lines: Iterable[str]) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


# ---- files, damage and tags

_HEADINGS = (
    "tag",
    "plugin",
    "kind",
    "count",
    "first step",
    "last step",
    "last written",
    "step issues",
)

_RIGHT_ALIGNED = frozenset({3, 4, 5})


def encode_listing(log: Log, selection: Selection) -> bytes:
    """Encode the listing as JSON, as documented in ``docs/cli.md``."""
    runs = {
        run: {
            "files": [_file_object(log, file) for file in log.files(run)],
            "tags": {info.tag: _tag_object(info) for info in tags},
        }
        for run, tags in selection.items()
    }
    return msgspec.json.format(msgspec.json.encode({"runs": runs}), indent=2)


def iter_listing_lines(log: Log, selection: Selection) -> Iterator[str]:
    """Format the listing for a terminal."""
    for run, tags in selection.items():
        files = log.files(run)
        size = format_bytes(sum(file.bytes for file in files))
        counts = f"{format_count(len(tags), 'tag')}, {format_count(len(files), 'file')}, {size}"
        yield f"{escape_unprintable(run)}  ({counts})"
        for file in files:
            yield from _iter_file_lines(_relative(log, file.path), file)
        yield from _iter_table(_tag_cells(log, run, info, len(files)) for info in tags)
        yield ""


def _file_object(log: Log, file: FileInfo) -> dict[str, Any]:
    return {
        "path": _relative(log, file.path),
        "bytes": file.bytes,
        "records": file.records,
        "damaged": file.damaged,
        "damage": [{"offset": d.offset, "bytes": d.size, "reason": d.reason} for d in file.damage],
    }


def _tag_object(info: TagInfo) -> dict[str, Any]:
    return {
        "plugin": info.plugin,
        "kind": info.kind.value,
        "count": info.count,
        "overwritten": info.overwritten,
        "first": _stamp_object(info.first),
        "last": _stamp_object(info.last),
    }


def _stamp_object(stamp: Stamp | None) -> dict[str, Any] | None:
    if stamp is None:
        return None
    return {"step": stamp.step, "wall_time": to_json_number(stamp.wall_time)}


def _relative(log: Log, path: str) -> str:
    """Return the path of a file relative to its root."""
    for root in sorted(log.roots, key=lambda root: len(root.path), reverse=True):
        if path.startswith(root.path.rstrip("/") + "/"):
            path = path[len(root.path.rstrip("/")) + 1 :]
            break
        if path == root.path:  # the root is a single event file
            path = os.path.basename(path)
            break
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _iter_file_lines(path: str, file: FileInfo) -> Iterator[str]:
    damage = f", {file.damaged:,} damaged" if file.damaged else ""
    size = format_bytes(file.bytes)
    yield f"  {escape_unprintable(path)}  {size}, {format_count(file.records, 'record')}{damage}"
    yield from (f"    {_describe_damage(damage)}" for damage in file.damage)
    if file.damaged > len(file.damage):
        yield f"    and {file.damaged - len(file.damage):,} more"


def _describe_damage(damage: DamageInfo) -> str:
    return f"byte {damage.offset:,}: {damage.reason} ({format_count(damage.size, 'byte')})"


def _tag_cells(log: Log, run: str, info: TagInfo, files: int) -> tuple[str, ...]:
    first, last = info.first, info.last
    return (
        escape_unprintable(info.tag),
        escape_unprintable(info.plugin) or "-",
        info.kind.value,
        f"{info.count:,}",
        str(first.step) if first else "-",
        str(last.step) if last else "-",
        _format_time(last.wall_time) if last else "-",
        _describe_steps(log, run, info, files),
    )


def _format_time(wall_time: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall_time))
    except (ValueError, OverflowError, OSError):
        return str(wall_time)


def _describe_steps(log: Log, run: str, info: TagInfo, files: int) -> str:
    # In a single file without overwritten values, steps increase: only the first can be negative.
    if files == 1 and not info.overwritten and info.first and info.first.step >= 0:
        return ""
    counts = {"overwritten": info.overwritten, **_count_odd(log.tensors(run, info.tag).step)}
    return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)


def _count_odd(step: Int64) -> dict[str, int]:
    return {
        "repeated": int(np.count_nonzero(step[1:] == step[:-1])),
        "going back": int(np.count_nonzero(step[1:] < step[:-1])),
        "negative": int(np.count_nonzero(step < 0)),
    }


def _iter_table(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Align the columns of a table under their headings."""
    table = [_HEADINGS, *rows]
    if len(table) == 1:
        return
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        cells = [
            cell.rjust(width) if index in _RIGHT_ALIGNED else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()
