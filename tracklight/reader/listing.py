"""List the files, corrupt records and tags of a log for ``tracklight inspect``, as text or JSON."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from tracklight.reader.log import Log
from tracklight.types import DamageInfo, FileInfo, Int64, Stamp, TagInfo
from tracklight.util.files import to_json_number
from tracklight.util.html import format_count
from tracklight.util.memory import format_bytes

#: The selected tags of each selected run.
Selection = Mapping[str, Sequence[TagInfo]]

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


def escape_unprintable(text: str) -> str:
    """Escape control characters, so that names in a log cannot control the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


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
