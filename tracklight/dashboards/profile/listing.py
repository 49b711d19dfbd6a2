"""The captures of a log, when they were taken, and which step their runs had come to."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import datetime

import msgspec
import numpy as np

from tracklight.dashboards.profile.groups import SESSION, find_time_s, group_files
from tracklight.errors import LogError
from tracklight.plugin import Context, Source
from tracklight.types import CaptureFile, CaptureKind, Kind, Series


class HostRow(msgspec.Struct):
    """One file of a capture."""

    name: str
    bytes: int


class CaptureRow(msgspec.Struct):
    """One capture; ``mark`` is another one whenever a file of it was written."""

    id: str
    run: str
    session: str
    title: str
    kind: CaptureKind
    wall_s: float
    step: int | None
    """The last step that the run logged a scalar of before; null where it logged none."""
    bytes: int
    mark: int
    hosts: list[HostRow]


class CapturesAnswer(msgspec.Struct):
    """All captures, by run and time."""

    cursor: str
    captures: list[CaptureRow]


class Listing:
    """Finds captures again only when the log has changed."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._kept: tuple[int, dict[str, list[CaptureFile]]] | None = None

    def list_captures(self) -> CapturesAnswer:
        cursor = self._context.cursor()
        steps = _Steps(self._context.log)
        rows = [_make_row(key, files, steps) for key, files in self._find_all().items()]
        return CapturesAnswer(cursor, rows)

    def get_files(self, capture: str) -> list[CaptureFile]:
        files = self._find_all().get(capture)
        if files is None:
            raise LogError("the log no longer has this capture; load the page again")
        return files

    def get_file(self, capture: str, host: str) -> CaptureFile:
        files = self.get_files(capture)
        found = next((file for file in files if host in ("", file.host)), None)
        if found is None:
            raise LogError(f'this capture has nothing of a host "{host}"')
        return found

    def _find_all(self) -> dict[str, list[CaptureFile]]:
        version = self._context.log.version
        kept = self._kept
        if kept is None or kept[0] != version:
            self._kept = kept = version, dict(group_files(self._context.log.captures()))
        return kept[1]


def _make_row(key: str, files: Sequence[CaptureFile], steps: _Steps) -> CaptureRow:
    first = files[0]
    wall_s = find_time_s(first)
    return CaptureRow(
        id=key,
        run=first.run,
        session=first.session,
        title=_make_title(first.session, wall_s),
        kind=first.kind,
        wall_s=wall_s,
        step=steps.find(first.run, wall_s),
        bytes=sum(file.bytes for file in files),
        mark=zlib.crc32("".join(file.state for file in files).encode()),
        hosts=[HostRow(file.host, file.bytes) for file in files],
    )


def _make_title(session: str, wall_s: float) -> str:
    """What somebody called it, else when it was taken."""
    try:
        taken = datetime.strptime(session, SESSION)
    except ValueError:
        if not session.isdigit():
            return session
        taken = datetime.fromtimestamp(wall_s)
    return taken.strftime("%Y-%m-%d %H:%M:%S")


class _Steps:
    """Which step runs had come to, by the scalar that each logged most often."""

    def __init__(self, log: Source) -> None:
        self._log = log
        self._series: dict[str, Series | None] = {}

    def find(self, run: str, wall_s: float) -> int | None:
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
        return self._log.scalar(run, max(scalars, key=lambda info: info.count).tag).current()
