"""Pictures as they were logged, for keeping: one as a file, or many in an archive."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracklight.dashboards.images.asks import ArchiveAsk, PartAsk
from tracklight.dashboards.images.kinds import find_kind
from tracklight.errors import LogError, TracklightError
from tracklight.formats.file_names import make_file_name, make_unique, make_zip_time
from tracklight.media.reader import ValueAsk
from tracklight.media.steps import SeriesSteps, StepsAsk, list_steps
from tracklight.plugin import Blob, Context, Stream

ReadValue = Callable[[ValueAsk], tuple[bytes, ...]]


def make_file(ask: PartAsk, step: int, data: bytes, of: int) -> Blob:
    """One picture, whatever it is, to be saved and never to be shown."""
    part = _name_part(step, ask.part, of, data)
    name = f"{make_file_name(ask.run)}-{make_file_name(ask.tag)}-{part}"
    filename = name.replace("/", "-")
    return Blob(data, "application/octet-stream", filename, immutable=ask.mark is not None)


def make_archive(context: Context, ask: ArchiveAsk, read: ReadValue) -> Stream:
    """A zip archive, made while it is sent; what cannot be read is named in a file of its own."""
    listed = list_steps(context, StepsAsk([ask.tag], ask.run or None)).series
    chosen = [(steps, _choose(steps, ask)) for steps in listed]
    if not any(len(places) for _, places in chosen):
        raise LogError(f'there are no pictures of "{ask.tag}" that were asked for')
    name = make_file_name(ask.tag).replace("/", "-")
    return Stream(_iter_zip(_iter_files(chosen, read)), "application/zip", f"{name}.zip")


def _choose(steps: SeriesSteps, ask: ArchiveAsk) -> list[int]:
    first = -np.inf if ask.first is None else ask.first
    last = np.inf if ask.last is None else ask.last
    inside = (steps.step >= first) & (steps.step <= last)
    return list(map(int, np.flatnonzero(inside)))


def _iter_files(
    chosen: list[tuple[SeriesSteps, list[int]]], read: ReadValue
) -> Iterator[tuple[str, float, bytes]]:
    """Name, time and contents of each."""
    unread = []
    for steps, places in chosen:
        folder = f"{make_file_name(steps.run)}/{make_file_name(steps.tag)}"
        for place in places:
            step, wall_time = int(steps.step[place]), float(steps.wall_time[place])
            ask = ValueAsk(steps.run, steps.tag, int(steps.index[place]), int(steps.mark[place]))
            try:
                parts = read(ask)
            except TracklightError as error:
                unread.append(f"{folder} step {step}: {error}\n")
                continue
            for part, data in enumerate(parts):
                yield f"{folder}/{_name_part(step, part, len(parts), data)}", wall_time, data
    if unread:
        yield "not-read.txt", time.time(), "".join(unread).encode()


def _iter_zip(files: Iterator[tuple[str, float, bytes]]) -> Iterator[bytes]:
    """Pictures are compressed by themselves, so they are stored as they are."""
    # Only who downloads has to load this.
    import zipfile

    sink = _Sink()
    taken: set[str] = set()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for name, wall_time, data in files:
            info = zipfile.ZipInfo(make_unique(name, taken), make_zip_time(wall_time))
            archive.writestr(info, data)
            yield sink.take()
    yield sink.take()


class _Sink(io.RawIOBase):
    """Takes what is written until it is taken away; it cannot be sought in, so that the archive
    is written from its begin to its end."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(self._parts[-1])

    def take(self) -> bytes:
        taken, self._parts = b"".join(self._parts), []
        return taken


def _name_part(step: int, part: int, of: int, data: bytes) -> str:
    which = f"-{part}" if of > 1 else ""
    return f"step-{step:08d}{which}.{find_kind(data).suffix}"
