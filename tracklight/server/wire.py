"""The JSON that the server speaks.

JSON has no word for numbers that are not finite, and logs are full of them. Wherever a field is a
``Number`` it is a JSON number or one of the strings ``"NaN"``, ``"Infinity"``, ``"-Infinity"``,
which JavaScript's ``Number()`` and Python's ``float()`` both read back. ``null`` means that there
is no number at all.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec
from starlette.responses import Response

from tracklight.formats.json_number import Number, json_number
from tracklight.types import FileInfo, Progress, RunInfo, SharedTag, Stamp


def readable(path: str) -> str:
    """Text from the file system, whose bytes need not be Unicode, as text that JSON can hold."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


class Json(Response):
    """An answer in JSON, never kept by a browser because the log may grow at any moment."""

    media_type = "application/json"

    def __init__(self, content: object, status_code: int = 200) -> None:
        super().__init__(content, status_code, headers={"cache-control": "no-store"})

    def render(self, content: Any) -> bytes:
        return msgspec.json.encode(content)


class StampRow(msgspec.Struct):
    """When a value was logged."""

    step: int
    wall_time: Number


class RunRow(msgspec.Struct):
    """One line of the list of runs."""

    name: str
    start_wall: Number | None
    last_wall: Number | None
    files: int
    bytes: int
    tags: int
    points: int
    damaged: int


class TagRow(msgspec.Struct):
    """One tag, of one run or of all runs together; ``runs`` says of how many."""

    tag: str
    plugin: str
    kind: str
    runs: int
    count: int
    overwritten: int
    first: StampRow | None
    last: StampRow | None
    display_name: str
    description: str


class FileRow(msgspec.Struct):
    """One event file; ``damage`` holds (offset, size, flaw) of the first damaged places."""

    run: str
    path: str
    bytes: int
    records: int
    damaged: int
    damage: list[tuple[int, int, str]]


class ProgressRow(msgspec.Struct):
    """How far the reading under way has come."""

    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int


def stamp_row(stamp: Stamp | None) -> StampRow | None:
    return None if stamp is None else StampRow(stamp.step, json_number(stamp.wall_time))


def run_row(info: RunInfo) -> RunRow:
    return RunRow(
        name=info.name,
        start_wall=None if info.start_wall is None else json_number(info.start_wall),
        last_wall=None if info.last_wall is None else json_number(info.last_wall),
        files=info.files,
        bytes=info.bytes,
        tags=info.tags,
        points=info.points,
        damaged=info.damaged,
    )


def tag_row(shared: SharedTag) -> TagRow:
    return TagRow(
        tag=shared.tag,
        plugin=shared.plugin,
        kind=str(shared.kind),
        runs=len(shared.runs),
        count=shared.count,
        overwritten=shared.overwritten,
        first=stamp_row(shared.first),
        last=stamp_row(shared.last),
        display_name=shared.display_name,
        description=shared.description,
    )


def file_row(run: str, info: FileInfo) -> FileRow:
    damage = [(place.offset, place.size, place.flaw) for place in info.damage]
    return FileRow(run, readable(info.path), info.bytes, info.records, info.damaged, damage)


def progress_row(progress: Progress) -> ProgressRow:
    return ProgressRow(
        progress.files_done, progress.files_total, progress.bytes_done, progress.bytes_total
    )
