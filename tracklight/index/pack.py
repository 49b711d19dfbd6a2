"""Checksums of what the cache stores: the kernel's CRC-32C, or zlib's CRC-32 without it."""

from __future__ import annotations

import mmap
import os
import struct
import weakref
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats.batch import Points, References
from tracklight.index.blocks import (
    Block,
    BlockHeader,
    FileState,
    RowsT,
    Segment,
    SegmentOrigin,
    SessionRows,
)
from tracklight.types import Int64
from tracklight.util.files import open_atomic

try:
    from tracklight.formats import _scan

    ALGORITHM = "crc32c"
except ImportError:
    ALGORITHM = "crc32"


def compute_checksum(data: bytes) -> int:
    return _scan.crc32c(data) if ALGORITHM == "crc32c" else zlib.crc32(data)


def compute_row_checksums(columns: Iterable[NDArray[Any]], starts: Int64) -> NDArray[np.uint32]:
    """One checksum for each stretch ``starts[i]:starts[i + 1]``, over all columns."""
    crcs = np.zeros(len(starts) - 1, np.uint32)
    carry_on = _scan.crc32c_of_rows if ALGORITHM == "crc32c" else _update_zlib_crcs
    for column in columns:
        carry_on(column, starts, crcs)
    return crcs


def _update_zlib_crcs(column: NDArray[Any], starts: Int64, crcs: NDArray[np.uint32]) -> None:
    bounds = starts.tolist()
    for i in range(len(crcs)):
        crcs[i] = zlib.crc32(column[bounds[i] : bounds[i + 1]].data, int(crcs[i]))


# A pack: one immutable file of the cache that holds segments of many event files.
#
#     magic | blocks, each a head and columns | directory | where it stands, its checksum | magic
#
# The directory is MessagePack and says for each segment where its blocks stand. A block's head (which
# series, where each starts, what a listing shows) has a checksum, and so has each series' rows. They
# are looked at when first used, so that opening a pack of any size costs its directory alone.

MAGIC = b"TLPACK01"

TRAILER = struct.Struct("<QQI4x8s")

Layout = Sequence[tuple[str, str]]

HEAD: Layout = (
    ("series", "<i4"), ("number", "u1"), ("crc", "<u4"), ("first_step", "<i8"),
    ("last_step", "<i8"), ("first_wall", "<f8"), ("last_wall", "<f8"), ("rises", "?"),
)  # fmt: skip

POINTS: Layout = (("step", "<i8"), ("wall", "<f8"), ("value", "<f8"))

REFERENCES: Layout = (
    ("step", "<i8"), ("wall", "<f8"), ("record", "<i8"),
    ("start", "<i8"), ("size", "<i8"), ("content", "u1"),
)  # fmt: skip


class CorruptPackError(FormatError):
    """A pack's bytes are not those that were written."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is not what was written there")
        self.path = path


class _BlockLocation(msgspec.Struct, array_like=True, frozen=True):
    """Where a block's head and columns stand in its pack."""

    head: int
    columns: int
    series: int
    rows: int
    head_crc: int


class _Session(msgspec.Struct, array_like=True, frozen=True):
    session: int
    start: int | None
    points: _BlockLocation | None
    references: _BlockLocation | None


class _Entry(msgspec.Struct, array_like=True, frozen=True):
    origin: SegmentOrigin
    state: FileState
    tags: int  # the number of a table: the runs of one log often share theirs
    metadata: list[tuple[int, bytes]]
    sessions: list[_Session]


class _Directory(msgspec.Struct, array_like=True, frozen=True):
    algorithm: str
    tables: list[tuple[tuple[bytes, ...], tuple[int, ...]]]
    entries: list[_Entry]


# ---- writing


def write_pack(path: Path, segments: Iterable[Segment]) -> None:
    """Write a pack; the file appears when it is complete.

    The content is not synced to disk: checksums detect what a power cut has damaged.
    """
    with open_atomic(path) as file:
        _write(file, segments)


def _write(file: BinaryIO, segments: Iterable[Segment]) -> None:
    file.write(MAGIC)
    tables: dict[tuple[tuple[bytes, ...], tuple[int, ...]], int] = {}
    entries = [_write_segment(file, segment, tables) for segment in segments]
    data = msgspec.msgpack.encode(_Directory(ALGORITHM, list(tables), entries))
    offset = file.tell()
    file.write(data)
    file.write(TRAILER.pack(offset, len(data), compute_checksum(data), MAGIC))


def _write_segment(
    file: BinaryIO,
    segment: Segment,
    tables: dict[tuple[tuple[bytes, ...], tuple[int, ...]], int],
) -> _Entry:
    table = tables.setdefault((segment.tags, segment.contents), len(tables))
    sessions = [
        _Session(
            rows.session,
            rows.start,
            _write_block(file, rows.points, POINTS) if rows.points else None,
            _write_block(file, rows.references, REFERENCES) if rows.references else None,
        )
        for rows in segment.sessions
    ]
    return _Entry(segment.origin, segment.state, table, list(segment.metadata), sessions)


def _write_block(file: BinaryIO, block: Block[Any], layout: Layout) -> _BlockLocation:
    rows, head = block.rows, block.header
    columns = [np.ascontiguousarray(getattr(rows, name), kind) for name, kind in layout]
    extra = {
        "crc": compute_row_checksums(columns, rows.starts),
        "number": getattr(rows, "number", np.zeros(len(rows.series), np.uint8)),
    }
    table = [extra[name] if name in extra else getattr(head, name) for name, _ in HEAD]
    head_bytes = b"".join(map(_to_aligned_bytes, [rows.starts, *table]))
    head_at = file.tell()
    file.write(head_bytes)
    columns_at = file.tell()
    for column in columns:
        file.write(column.data)
        file.write(_padding(column.nbytes))
    return _BlockLocation(
        head_at, columns_at, len(rows.series), len(rows.step), compute_checksum(head_bytes)
    )


def _padding(size: int) -> bytes:
    return b"\0" * (-size % 8)


def _to_aligned_bytes(array: NDArray[Any]) -> bytes:
    return array.tobytes() + _padding(array.nbytes)


# ---- reading


class MappedBlock(Block[RowsT]):
    """A block that stands in a pack; its bytes are checked once, when they are first used."""

    __slots__ = ("_checked", "_crc", "_layout", "_location", "_pack")

    def __init__(self, pack: Pack, place: _BlockLocation, layout: Layout) -> None:
        self._pack = pack
        self._location = place
        self._layout = layout
        self._head = None

    @property
    def pack_path(self) -> Path:
        return self._pack.path

    def __len__(self) -> int:
        return self._location.rows

    @property
    def header(self) -> BlockHeader:
        return self._head or self._load()

    @property
    def rows(self) -> RowsT:
        for at in range(len(self.header.series)):
            self._check(at)
        return self._rows

    def get_rows_of(self, indexes: Sequence[int]) -> RowsT:
        for at in indexes:
            self._check(at)
        return self._rows

    def get_series_rows(self, at: int) -> tuple[RowsT, slice]:
        self._check(at)
        return self._rows, self.header.get_rows(at)

    def _load(self) -> BlockHeader:
        place = self._location
        self._pack.verify(place.head, place.columns, place.head_crc)
        starts, head = self._pack.get_header_arrays(place.head, place.series)
        number, self._crc = head.pop("number"), head.pop("crc")
        columns, _ = self._pack.get_arrays(self._layout, place.columns, place.rows)
        self._rows = _make_rows(head["series"], starts, number, columns)
        self._checked = np.zeros(place.series, np.bool_)
        self._head = BlockHeader(starts=starts, **head)
        return self._head

    def _check(self, at: int) -> None:
        rows = self.header.get_rows(at)
        if self._checked[at]:
            return
        columns = [getattr(self._rows, name)[rows] for name, _ in self._layout]
        whole = np.array([0, rows.stop - rows.start])
        if compute_row_checksums(columns, whole)[0] != self._crc[at]:
            raise CorruptPackError(self._pack.path)
        self._checked[at] = True


def _make_rows(
    series: NDArray[Any], starts: NDArray[Any], number: NDArray[Any], columns: dict[str, Any]
) -> Any:
    if "value" in columns:
        return Points(series, starts, number, **columns)
    return References(series, starts, **columns)


_open_packs: weakref.WeakSet[Pack] = weakref.WeakSet()


def release_pages() -> None:
    """Give the pages of all packs back to the system, which keeps them as long as it can."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for pack in list(_open_packs):
            pack.data.madvise(mmap.MADV_DONTNEED)


class Pack:
    """A pack that is mapped into memory; nothing of it is read before it is used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < len(MAGIC) + TRAILER.size:
                raise CorruptPackError(path)
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._directory = self._read_directory()
        _open_packs.add(self)

    def list_segments(self) -> list[Segment]:
        return [self._segment(entry) for entry in self._directory.entries]

    def verify(self, start: int, stop: int, crc: int) -> None:
        if (
            not 0 <= start <= stop <= len(self.data)
            or compute_checksum(self.data[start:stop]) != crc
        ):
            raise CorruptPackError(self.path)

    def get_arrays(
        self, layout: Layout, at: int, length: int
    ) -> tuple[dict[str, NDArray[Any]], int]:
        """Columns of one length that stand one after the other, and where the last one ends."""
        found = {}
        for name, kind in layout:
            found[name] = np.frombuffer(self.data, kind, length, at)
            at += found[name].nbytes + -found[name].nbytes % 8
        return found, at

    def get_header_arrays(
        self, at: int, series: int
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
        starts = np.frombuffer(self.data, "<i8", series + 1, at)
        return starts, self.get_arrays(HEAD, at + starts.nbytes, series)[0]

    def _read_directory(self) -> _Directory:
        offset, size, crc, magic = TRAILER.unpack(self.data[-TRAILER.size :])
        if magic != MAGIC or self.data[: len(MAGIC)] != MAGIC:
            raise CorruptPackError(self.path)
        self.verify(offset, offset + size, crc)
        try:
            directory = msgspec.msgpack.decode(self.data[offset : offset + size], type=_Directory)
        except msgspec.MsgspecError:
            raise CorruptPackError(self.path) from None
        if directory.algorithm != ALGORITHM:
            raise CorruptPackError(self.path)
        return directory

    def _segment(self, entry: _Entry) -> Segment:
        tags, contents = self._directory.tables[entry.tags]
        sessions = tuple(
            SessionRows(
                places.session,
                places.start,
                MappedBlock(self, places.points, POINTS) if places.points else None,
                MappedBlock(self, places.references, REFERENCES) if places.references else None,
            )
            for places in entry.sessions
        )
        metadata = tuple(entry.metadata)
        return Segment(entry.origin, entry.state, tags, contents, metadata, sessions)
