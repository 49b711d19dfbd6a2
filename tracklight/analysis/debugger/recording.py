"""Read recordings of ``tracklight.debugger`` from event files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.source import Source
from tracklight.errors import FormatError, TagNotFoundError
from tracklight.formats import proto
from tracklight.formats.tensor import decode_tensor
from tracklight.formats.tensor_health import (
    HEALTH_TAG,
    HISTOGRAM_BINS,
    HISTOGRAM_TAG,
    LAYOUT_TAG,
    LOSS_SCALE_TAG,
    PLUGIN,
    REPORT_TAG,
    SKIPPED_TAG,
    SOURCE_FILES_TAG,
    STAT_INDEX,
    STATS,
    HealthLayout,
    HealthReport,
    RecordedSourceFile,
    SourceLocation,
    make_tag,
)
from tracklight.types import Float32, Float64, Int64, Series


class RecordingKey(NamedTuple):
    """A recording: one per run and process."""

    run: str
    rank: int

    @property
    def name(self) -> str:
        return self.run if self.rank == 0 else f"{self.run} (rank {self.rank})"


def iter_recordings(source: Source) -> Iterator[RecordingKey]:
    """Yield the recordings of a log."""
    for run in source.runs():
        yield from _iter_ranks(source, run.name)


def _iter_ranks(source: Source, run: str) -> Iterator[RecordingKey]:
    for info in source.tags(run):
        if info.plugin == PLUGIN and info.tag.endswith(f"/{LAYOUT_TAG}"):
            rank = info.tag.split("/")[1].removeprefix("rank")
            yield RecordingKey(run, int(rank) if rank.isdigit() else 0)


class Recording:
    """A recording as of when it was opened.

    Args:
        source: The log.
        key: The recording.

    Raises:
        FormatError: The recording has no valid layout.
    """

    def __init__(self, source: Source, key: RecordingKey) -> None:
        self._source = source
        self.key = key
        texts = self._read_texts(LAYOUT_TAG)
        if not texts:
            raise FormatError(f'The recording of "{key.name}" has no layout')
        try:
            self.layout = msgspec.json.decode(texts[-1], type=HealthLayout)
        except msgspec.MsgspecError as error:
            raise FormatError(f'The layout of "{key.name}" is invalid: {error}') from None

    def iter_other_ranks(self) -> Iterator[Recording]:
        """Yield the recordings of the other processes of the same program."""
        for key in _iter_ranks(self._source, self.key.run):
            if key != self.key:
                with contextlib.suppress(FormatError):
                    yield Recording(self._source, key)

    @property
    def framework(self) -> str:
        return self.layout.framework

    @cached_property
    def _table(self) -> tuple[Int64, Float64, Float32]:
        """Steps, wall times and health (steps, tensors, stats), without overwritten steps."""
        count = len(self.layout.tensors)
        locations = self._source.locate(self.key.run, make_tag(HEALTH_TAG, self.key.rank))
        # A step that was recorded again after a restart replaces the first recording.
        last = {int(step): index for index, step in enumerate(locations.step.tolist())}
        indexes = [last[step] for step in sorted(last)]
        health: Float32 = np.full((len(indexes), count, len(STATS)), np.nan, np.float32)
        for row, data in enumerate(self._source.read_many(locations, indexes)):
            matrix = _decode(data)
            if matrix is None or matrix.ndim != 2:
                continue
            rows, columns = min(len(matrix), count), min(matrix.shape[1], len(STATS))
            health[row, :rows, :columns] = matrix[:rows, :columns]
        step = np.array([int(locations.step[it]) for it in indexes], np.int64)
        wall_time = np.array([float(locations.wall_time[it]) for it in indexes], np.float64)
        return step, wall_time, health

    @property
    def step(self) -> Int64:
        return self._table[0]

    @property
    def wall_time(self) -> Float64:
        return self._table[1]

    @property
    def health(self) -> Float32:
        """Statistics (steps, tensors, `STATS`); NaN where a tensor was not computed."""
        return self._table[2]

    def find_wall_time(self, step: int) -> float | None:
        """Return when a step was recorded."""
        rows = np.flatnonzero(self.step == step)
        return float(self.wall_time[rows[0]]) if len(rows) else None

    def get_stat(self, name: str) -> Float32:
        """Return one statistic (steps, tensors)."""
        return self.health[:, :, STAT_INDEX[name]]

    @cached_property
    def reports(self) -> list[HealthReport]:
        reports = []
        for text in self._read_texts(REPORT_TAG):
            try:
                reports.append(msgspec.json.decode(text, type=HealthReport))
            except msgspec.MsgspecError:
                continue
        return [it for it in reports if 0 <= it.tensor < len(self.layout.tensors)]

    @cached_property
    def loss_scale(self) -> Series | None:
        return self._find_scalar(LOSS_SCALE_TAG)

    @cached_property
    def skipped_steps(self) -> set[int]:
        """Steps that the optimizer skipped because of infinite scaled gradients."""
        series = self._find_scalar(SKIPPED_TAG)
        return set() if series is None else set(series.step[series.value > 0].tolist())

    @cached_property
    def source_files(self) -> dict[str, str]:
        """Texts of the files of the user's program, by path."""
        files = {}
        for text in self._read_texts(SOURCE_FILES_TAG):
            try:
                file = msgspec.json.decode(text, type=RecordedSourceFile)
            except msgspec.MsgspecError:
                continue
            files[file.path] = file.text
        return files

    def get_stack(self, tensor: int) -> list[SourceLocation]:
        """Return where a tensor is computed, outermost frame first."""
        frames, watched = self.layout.frames, self.layout.tensors[tensor]
        stack = [frames[it] for it in watched.stack if 0 <= it < len(frames)]
        return stack or ([watched.source] if watched.source.path else [])

    def read_histograms(self, tensor: int, limit: int) -> tuple[Int64, NDArray[np.uint8]]:
        """Return steps and histograms (steps, bins) of a tensor.

        Args:
            tensor: Row of the tensor.
            limit: Number of steps to read, at equal distances and with the last one.
        """
        empty = np.empty(0, np.int64), np.empty((0, HISTOGRAM_BINS), np.uint8)
        try:
            tag = make_tag(HISTOGRAM_TAG, self.key.rank)
            locations = self._source.locate(self.key.run, tag)
        except TagNotFoundError:
            return empty
        last = {int(step): index for index, step in enumerate(locations.step.tolist())}
        steps = sorted(last)
        chosen = np.unique(np.linspace(0, len(steps) - 1, min(limit, len(steps))).round())
        steps = [steps[int(it)] for it in chosen]
        found, rows = [], []
        tables = self._source.read_many(locations, [last[step] for step in steps])
        for step, data in zip(steps, tables, strict=True):
            table = _decode(data)
            if table is None or table.ndim != 2 or table.shape[1] != HISTOGRAM_BINS:
                continue
            if tensor < len(table) and table[tensor].any():
                found.append(step)
                rows.append(table[tensor])
        return (np.array(found, np.int64), np.array(rows, np.uint8)) if rows else empty

    def read_value(self, tag: str) -> NDArray[np.generic] | None:
        """Return a tensor that belongs to a report."""
        try:
            locations = self._source.locate(self.key.run, tag)
        except TagNotFoundError:
            return None
        return _decode(self._source.read(locations, len(locations.step) - 1))

    def _find_scalar(self, tag: str) -> Series | None:
        try:
            return self._source.scalar(self.key.run, make_tag(tag, self.key.rank))
        except TagNotFoundError:
            return None

    def _read_texts(self, tag: str) -> list[bytes]:
        try:
            locations = self._source.locate(self.key.run, make_tag(tag, self.key.rank))
        except TagNotFoundError:
            return []
        values = self._source.read_many(locations, range(len(locations.step)))
        arrays = [_decode(value) for value in values]
        return [bytes(it.ravel()[0]) for it in arrays if it is not None and it.size]


def _decode(data: bytes) -> NDArray[np.generic] | None:
    try:
        return decode_tensor(proto.parse("Value", data).tensor)
    except FormatError:
        return None
