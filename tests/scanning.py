"""Run scanners over bytes, and convert their results to a form that can be compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

from tracklight.formats import scanner
from tracklight.formats.batch import Batch, Damage, Points, References, ScalarType
from tracklight.formats.scanner import Scanner, scan_large_record

try:
    from tracklight.formats import _scan
except ImportError:
    _scan = None  # type: ignore[assignment]

ScannerType = Callable[..., Scanner]

needs_kernel = pytest.mark.skipif(_scan is None, reason="the kernel has not been compiled")

#: Both scanners, as parameters of a test.
SCANNERS = [
    pytest.param(scanner.PythonScanner, id="python"),
    pytest.param(getattr(_scan, "Scanner", None), id="compiled", marks=needs_kernel),
]


def read_file(
    scanner: Scanner, data: bytes, window: int = 8 << 20, whole: bool = True
) -> list[Batch]:
    """Scan a file of fixed size: ``window`` bytes at a time, or more if a record needs more.

    Large records are scanned like all others, or by `scan_large_record` if not ``whole``.
    """
    batches = []
    width = window
    while True:
        at = scanner.position
        batch = scanner.scan(data[at : at + width], len(data))
        if scanner.position > at or batch.damage:
            batches.append(batch)
        if batch.large and not whole:
            walked = scan_large_record(
                scanner, batch.large, lambda start, n: data[start : start + n], len(data)
            )
            batches += [walked] if walked else []
        if scanner.position > at:
            width = window
        elif at + width >= len(data):
            return batches
        else:
            width *= 2


@dataclasses.dataclass
class Reading:
    """Everything that was found in a file, independent of its batches."""

    tags: list[bytes] = dataclasses.field(default_factory=list)
    contents: list[int] = dataclasses.field(default_factory=list)
    points: dict[bytes, list[Any]] = dataclasses.field(default_factory=dict)
    references: dict[bytes, list[Any]] = dataclasses.field(default_factory=dict)
    metadata: list[tuple[int, bytes]] = dataclasses.field(default_factory=list)
    sessions: list[int] = dataclasses.field(default_factory=list)
    damage: list[Damage] = dataclasses.field(default_factory=list)
    records: int = 0
    file_version: bytes | None = None
    writer: bytes | None = None


def gather(batches: Iterable[Batch], tags: Iterable[bytes] = ()) -> Reading:
    """Merge batches; every row ends with the number of sessions that began before it."""
    reading = Reading(tags=list(tags))
    for batch in batches:
        reading.tags += batch.tags
        reading.contents += batch.contents
        reading.metadata += batch.metadata
        reading.sessions += [] if batch.session_start is None else [batch.session_start]
        reading.damage += batch.damage
        reading.records += batch.records
        reading.file_version = batch.file_version or reading.file_version
        reading.writer = batch.writer or reading.writer
        _add_points(reading, batch.points)
        _add_references(reading, batch.references)
    return reading


def _add_points(reading: Reading, points: Points) -> None:
    for i, series in enumerate(points.series):
        rows = slice(points.starts[i], points.starts[i + 1])
        numbers = points.value[rows].view(ScalarType(points.scalar_type[i]).dtype)
        # As strings, NaNs are equal to themselves. As floats, numbers are equal even if one batch
        # stores them as floats and another, without fractions, as integers.
        found = zip(
            points.step[rows].tolist(),
            map(repr, points.wall[rows].tolist()),
            map(repr, map(float, numbers.tolist())),
            strict=True,
        )
        rows_of_tag = reading.points.setdefault(reading.tags[series], [])
        rows_of_tag += [(*row, len(reading.sessions)) for row in found]


def _add_references(reading: Reading, references: References) -> None:
    for i, series in enumerate(references.series):
        rows = slice(references.starts[i], references.starts[i + 1])
        columns = (getattr(references, name) for name in ("record", "start", "size", "content"))
        found = zip(
            references.step[rows].tolist(),
            map(repr, references.wall[rows].tolist()),
            *(column[rows].tolist() for column in columns),
            strict=True,
        )
        rows_of_tag = reading.references.setdefault(reading.tags[series], [])
        rows_of_tag += [(*row, len(reading.sessions)) for row in found]


def get_values(batch: Batch, series: int = 0) -> list[float | int]:
    """Return the values of one series in their own number type."""
    (i,) = np.flatnonzero(batch.points.series == series)
    rows = slice(batch.points.starts[i], batch.points.starts[i + 1])
    return batch.points.value[rows].view(ScalarType(batch.points.scalar_type[i]).dtype).tolist()


def assert_agree(creators: Sequence[ScannerType], data: bytes, sizes: Iterable[int]) -> None:
    """Check that scanners return the same batches while a file grows through ``sizes``."""
    scanners = [create() for create in creators]
    for size in sorted({*(size % (len(data) + 1) for size in sizes), len(data)}):
        for reader in scanners:
            reader.rewind(size)
        moved = True
        while moved:
            at = scanners[0].position
            batches = [reader.scan(data[at:size], size) for reader in scanners]
            for batch in batches[1:]:
                assert_same_batch(batches[0], batch)
            assert len({get_state(scanner) for scanner in scanners}) == 1
            moved = scanners[0].position > at


def assert_same_batch(one: Batch, other: Batch) -> None:
    """Check that batches are equal, including array types; any NaN equals any other."""
    for field in dataclasses.fields(Batch):
        mine, others = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, Points | References):
            assert _to_comparable(mine) == _to_comparable(others), field.name
        else:
            assert mine == others, field.name


def _to_comparable(columns: Points | References) -> dict[str, tuple[Any, list[Any]]]:
    named = {field.name: getattr(columns, field.name) for field in dataclasses.fields(columns)}
    if isinstance(columns, Points):
        named["value"] = _normalize_nans(columns)
    named["wall"] = np.where(np.isnan(columns.wall), np.nan, columns.wall)
    bits = {name: array.view(f"u{array.itemsize}") for name, array in named.items()}
    return {name: (named[name].dtype, bits[name].tolist()) for name in named}


def _normalize_nans(points: Points) -> Any:
    """Replace NaNs by the default one: conversions need not preserve the payload of a NaN."""
    is_float = np.repeat(points.scalar_type == ScalarType.FLOAT, np.diff(points.starts))
    return np.where(is_float & np.isnan(points.value), np.nan, points.value)


def get_state(scanner: Scanner) -> tuple[int, int, int]:
    return scanner.position, scanner.lost_at, scanner.torn_end
