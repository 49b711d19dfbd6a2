"""Open debugger dumps in tests."""

from __future__ import annotations

from pathlib import Path

from tracklight.analysis.debugger.dump import DebugDump, iter_dumps
from tracklight.logdir.access import parse_roots
from tracklight.logdir.discover import discover
from tracklight.logdir.filesystem import FileHandle, LocalFileSystem
from tracklight.types import DebugEventFile


def open_file(file: DebugEventFile) -> FileHandle:
    return LocalFileSystem().open(file.path)


def list_files(folder: Path) -> list[DebugEventFile]:
    (root,) = parse_roots(str(folder))
    return discover(root, LocalFileSystem()).debug_events


def open_dumps(folder: Path) -> dict[str, DebugDump]:
    dumps = iter_dumps(list_files(folder), open_file)
    return {name: DebugDump(hosts, open_file) for name, hosts in dumps}


def open_dump(folder: Path) -> DebugDump:
    (dump,) = open_dumps(folder).values()
    return dump
