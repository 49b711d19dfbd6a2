"""Packs: the immutable files of the cache, each with the segments of many event files.

    magic | blocks, each a header and columns | directory | its offset, size and checksum | magic

The directory is MessagePack and lists the segments with the locations of their blocks. The header
of a block (its series, where each of them starts, and what listings show) has a checksum, and so do
the rows of each series. Checksums are verified on first use, so that opening a pack of any size
reads only its directory.
"""

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
from tracklight.index import (
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

MAGIC = b"TLPACK02"
TRAILER = struct.Struct("<QQI4x8s")

#: Names and types of columns, in the order in which they are stored.
Layout = Sequence[tuple[str, str]]
HEADER: Layout = (
    ("series", "<i4"), ("scalar_type", "u1"), ("crc", "<u4"), ("first_step", "<i8"),
    ("last_step", "<i8"), ("first_wall", "<f8"), ("last_wall", "<f8"), ("is_increasing", "?"),
    ("last_value", "<f8"), ("low", "<f8"), ("high", "<f8"),
)  # fmt: skip
POINTS: Layout = (("step", "<i8"), ("wall", "<f8"), ("value", "<f8"))
REFERENCES: Layout = (
    ("step", "<i8"), ("wall", "<f8"), ("record", "<i8"),
    ("start", "<i8"), ("size", "<i8"), ("content", "u1"),
)  # fmt: skip

_TagTable = tuple[tuple[bytes, ...], tuple[int, ...]]


#: The columns of headers that `stack_headers` returns, besides the number of rows.
STACKED_COLUMNS = (
    "series", "first_step", "last_step", "first_wall", "last_wall", "is_increasing",
    "last_value", "low", "high",
)  # fmt: skip


class StackedHeaders(msgspec.Struct, frozen=True):
    """The headers of many blocks, one row for each series of each block."""

    block: Int64
    """The number of the block of each row."""
    columns: dict[str, NDArray[Any]]
    """Columns of `BlockHeader` by name, and ``count``, the number of rows of the series."""


class CorruptPackError(FormatError):
    """A pack is truncated or fails a checksum."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"the cache file {path} is corrupt")
        self.path = path


class _BlockLocation(msgspec.Struct, array_like=True, frozen=True):
    """Offsets and sizes of a block in its pack."""

    header: int
    columns: int
    series: int
    rows: int
    header_crc: int


class _Session(msgspec.Struct, array_like=True, frozen=True):
    session: int
    start: int | None
    points: _BlockLocation | None
    references: _BlockLocation | None


class _Entry(msgspec.Struct, array_like=True, frozen=True):
    origin: SegmentOrigin
    state: FileState
    tags: int  # index of a tag table, which many runs of a log share
    metadata: list[tuple[int, bytes]]
    sessions: list[_Session]


class _OriginKey(msgspec.Struct, array_like=True, frozen=True):
    """The first fields of `SegmentOrigin`."""

    path: str
    begin: int
    end: int


class _EntryKey(msgspec.Struct, array_like=True, frozen=True):
    """The first field of `_Entry`."""

    origin: _OriginKey


class _Directory(msgspec.Struct, array_like=True, frozen=True):
    algorithm: str
    tables: list[_TagTable]
    entries: list[msgspec.Raw]  # each an `_Entry`


_entry_decoder = msgspec.msgpack.Decoder(_Entry)
_entry_key_decoder = msgspec.msgpack.Decoder(_EntryKey)


# ---- checksums


def compute_checksum(data: bytes) -> int:
    """Return the CRC-32C of some bytes; CRC-32 if the compiled kernel is missing."""
    return _scan.crc32c(data) if ALGORITHM == "crc32c" else zlib.crc32(data)


def compute_row_checksums(columns: Iterable[NDArray[Any]], starts: Int64) -> NDArray[np.uint32]:
    """Return one checksum over all columns for each range of rows ``starts[i]:starts[i + 1]``."""
    crcs = np.zeros(len(starts) - 1, np.uint32)
    update = _scan.crc32c_of_rows if ALGORITHM == "crc32c" else _update_zlib_crcs
    for column in columns:
        update(column, starts, crcs)
    return crcs


def _update_zlib_crcs(column: NDArray[Any], starts: Int64, crcs: NDArray[np.uint32]) -> None:
    bounds = starts.tolist()
    for i in range(len(crcs)):
        crcs[i] = zlib.crc32(column[bounds[i] : bounds[i + 1]].data, int(crcs[i]))


# ---- writing


def write_pack(path: Path, segments: Iterable[Segment]) -> None:
    """Write a pack; the file appears when it is complete.

    The content is not synced to disk, because checksums detect damage by a power failure.
    """
    with open_atomic(path) as file:
        _write(file, segments)


def _write(file: BinaryIO, segments: Iterable[Segment]) -> None:
    file.write(MAGIC)
    tables: dict[_TagTable, int] = {}
    encode = msgspec.msgpack.Encoder().encode
    entries = [msgspec.Raw(encode(_write_segment(file, segment, tables))) for segment in segments]
    data = msgspec.msgpack.encode(_Directory(ALGORITHM, list(tables), entries))
    offset = file.tell()
    file.write(data)
    file.write(TRAILER.pack(offset, len(data), compute_checksum(data), MAGIC))


def _write_segment(file: BinaryIO, segment: Segment, tables: dict[_TagTable, int]) -> _Entry:
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
    rows, header = block.rows, block.header
    columns = [np.ascontiguousarray(getattr(rows, name), dtype) for name, dtype in layout]
    no_types = np.zeros(len(rows.series), np.uint8)
    extra = {
        "crc": compute_row_checksums(columns, rows.starts),
        "scalar_type": rows.scalar_type if isinstance(rows, Points) else no_types,
    }
    table = [extra[name] if name in extra else getattr(header, name) for name, _ in HEADER]
    header_bytes = b"".join(map(_to_aligned_bytes, [rows.starts, *table]))
    header_offset = file.tell()
    file.write(header_bytes)
    columns_offset = file.tell()
    for column in columns:
        file.write(column.data)
        file.write(_padding(column.nbytes))
    return _BlockLocation(
        header=header_offset,
        columns=columns_offset,
        series=len(rows.series),
        rows=len(rows.step),
        header_crc=compute_checksum(header_bytes),
    )


def _pad(size: int) -> int:
    return size + -size % 8


def _padding(size: int) -> bytes:
    return b"\0" * (-size % 8)


def _to_aligned_bytes(array: NDArray[Any]) -> bytes:
    return array.tobytes() + _padding(array.nbytes)


# ---- reading


class Pack:
    """A pack that is mapped into memory; its blocks are read on first use.

    Raises:
        CorruptPackError: The file is not a complete pack.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < len(MAGIC) + TRAILER.size:
                raise CorruptPackError(path)
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._directory = self._read_directory()
        _open_packs.add(self)

    def list_segments(self) -> list[StoredSegment]:
        """Return the segments, which are decoded when they are loaded.

        Raises:
            CorruptPackError: The directory is invalid.
        """
        try:
            return [StoredSegment(self, entry) for entry in self._directory.entries]
        except msgspec.MsgspecError:
            raise CorruptPackError(self.path) from None

    def verify(self, start: int, stop: int, crc: int) -> None:
        """Raise CorruptPackError if a byte range does not have this checksum."""
        is_inside = 0 <= start <= stop <= len(self.data)
        if not is_inside or compute_checksum(self.data[start:stop]) != crc:
            raise CorruptPackError(self.path)

    def get_arrays(self, layout: Layout, offset: int, length: int) -> dict[str, NDArray[Any]]:
        """Return consecutive columns of the same length, by name."""
        arrays = {}
        for name, dtype in layout:
            arrays[name] = np.frombuffer(self.data, dtype, length, offset)
            offset += arrays[name].nbytes + -arrays[name].nbytes % 8
        return arrays

    def get_header_arrays(
        self, offset: int, series: int
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
        """Return ``starts`` and the other columns of the header of a block."""
        starts = np.frombuffer(self.data, "<i8", series + 1, offset)
        return starts, self.get_arrays(HEADER, offset + starts.nbytes, series)

    def read_headers(
        self, locations: Sequence[_BlockLocation], series: int
    ) -> dict[str, NDArray[Any]]:
        """Return the headers of several blocks with the same number of series, one after another.

        Raises:
            CorruptPackError: A header fails its checksum.
        """
        parts = [self.data[location.header : location.columns] for location in locations]
        for part, location in zip(parts, locations, strict=True):
            if compute_checksum(part) != location.header_crc:
                raise CorruptPackError(self.path)
        size = 8 * (series + 1) + sum(_pad(series * np.dtype(item).itemsize) for _, item in HEADER)
        if any(len(part) != size for part in parts):
            raise CorruptPackError(self.path)
        table = np.frombuffer(b"".join(parts), np.uint8).reshape(len(parts), size)
        starts = np.ascontiguousarray(table[:, : 8 * (series + 1)]).view("<i8")
        columns: dict[str, NDArray[Any]] = {"count": np.diff(starts).ravel()}
        offset = 8 * (series + 1)
        for name, dtype in HEADER:
            width = series * np.dtype(dtype).itemsize
            if name in STACKED_COLUMNS:
                own = np.ascontiguousarray(table[:, offset : offset + width])
                columns[name] = own.view(dtype).ravel()
            offset += _pad(width)
        return columns

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

    def load_segment(self, data: msgspec.Raw) -> Segment:
        """Decode an entry of the directory."""
        try:
            entry = _entry_decoder.decode(data)
        except msgspec.MsgspecError:
            raise CorruptPackError(self.path) from None
        tags, contents = self._directory.tables[entry.tags]
        sessions = tuple(
            SessionRows(
                session.session,
                session.start,
                MappedBlock(self, session.points, POINTS) if session.points else None,
                MappedBlock(self, session.references, REFERENCES) if session.references else None,
            )
            for session in entry.sessions
        )
        metadata = tuple(entry.metadata)
        return Segment(entry.origin, entry.state, tags, contents, metadata, sessions)


class StoredSegment:
    """A segment in a pack.

    Only its key is decoded, because every shard of a cluster opens the packs of all of them.
    """

    __slots__ = ("_entry", "_pack", "begin", "end", "path")

    def __init__(self, pack: Pack, entry: msgspec.Raw) -> None:
        origin = _entry_key_decoder.decode(entry).origin
        self.path, self.begin, self.end = origin.path, origin.begin, origin.end
        self._pack = pack
        self._entry = entry

    def load(self) -> Segment:
        return self._pack.load_segment(self._entry)


_open_packs: weakref.WeakSet[Pack] = weakref.WeakSet()


def release_pages() -> None:
    """Release the memory pages of all packs; the system keeps them cached as long as it can."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for pack in list(_open_packs):
            pack.data.madvise(mmap.MADV_DONTNEED)


#: Blocks with up to this many rows are verified at once.
_MAX_SHORT_ROWS = 4096


class MappedBlock(Block[RowsT]):
    """A block in a pack; each series is verified once, when it or its block is first used."""

    __slots__ = ("_crcs", "_is_verified", "_layout", "_location", "_pack")

    def __init__(self, pack: Pack, location: _BlockLocation, layout: Layout) -> None:
        self._pack = pack
        self._location = location
        self._layout = layout
        self._header = None

    @property
    def pack_path(self) -> Path:
        return self._pack.path

    def __len__(self) -> int:
        return self._location.rows

    @property
    def header(self) -> BlockHeader:
        return self._header or self._load()

    @property
    def rows(self) -> RowsT:
        for index in range(len(self.header.series)):
            self._verify(index)
        return self._rows

    def get_rows_of(self, indexes: Sequence[int]) -> RowsT:
        for index in indexes:
            self._verify(index)
        return self._rows

    def get_series_rows(self, index: int) -> tuple[RowsT, slice]:
        self._verify(index)
        return self._rows, self.header.get_rows(index)

    def _load(self) -> BlockHeader:
        location = self._location
        self._pack.verify(location.header, location.columns, location.header_crc)
        starts, header = self._pack.get_header_arrays(location.header, location.series)
        scalar_type, self._crcs = header.pop("scalar_type"), header.pop("crc")
        columns = self._pack.get_arrays(self._layout, location.columns, location.rows)
        self._rows = _make_rows(header["series"], starts, scalar_type, columns)
        self._is_verified = np.zeros(location.series, np.bool_)
        self._header = BlockHeader(starts=starts, **header)
        return self._header

    def _verify(self, index: int) -> None:
        header = self.header
        if self._is_verified[index]:
            return
        # Of short blocks, all series: that costs less than calls for one series after the other.
        is_short = len(self) <= _MAX_SHORT_ROWS
        first, stop = (0, len(header.series)) if is_short else (index, index + 1)
        columns = [getattr(self._rows, name) for name, _ in self._layout]
        checksums = compute_row_checksums(columns, header.starts[first : stop + 1])
        if (checksums != self._crcs[first:stop]).any():
            raise CorruptPackError(self._pack.path)
        self._is_verified[first:stop] = True


def stack_headers(blocks: Sequence[Block[Any]]) -> StackedHeaders:
    """Return the headers of many blocks as one table.

    Those of blocks in packs are read together: making arrays for each of 100,000 takes seconds.
    """
    mapped: dict[tuple[Pack, int], list[int]] = {}
    parts: list[tuple[Int64, dict[str, NDArray[Any]]]] = []
    others: list[int] = []
    for number, block in enumerate(blocks):
        if isinstance(block, MappedBlock) and block._header is None:
            mapped.setdefault((block._pack, block._location.series), []).append(number)
        else:
            others.append(number)
    for (pack, series), numbers in mapped.items():
        locations = [blocks[number]._location for number in numbers]  # type: ignore[attr-defined]
        parts.append((np.repeat(numbers, series), pack.read_headers(locations, series)))
    if others:
        headers = [blocks[number].header for number in others]
        columns = {
            name: np.concatenate([getattr(header, name) for header in headers])
            for name in STACKED_COLUMNS
        }
        columns["count"] = np.concatenate([np.diff(header.starts) for header in headers])
        parts.append((np.repeat(others, [len(header.series) for header in headers]), columns))
    if not parts:
        empty = {name: np.zeros(0, dtype) for name, dtype in HEADER if name in STACKED_COLUMNS}
        return StackedHeaders(np.zeros(0, np.int64), {**empty, "count": np.zeros(0, np.int64)})
    block_of_row = np.concatenate([numbers for numbers, _ in parts])
    table = {name: np.concatenate([item[name] for _, item in parts]) for name in parts[0][1]}
    if len(parts) > 1:
        order = np.argsort(block_of_row, kind="stable")
        block_of_row = block_of_row[order]
        table = {name: column[order] for name, column in table.items()}
    return StackedHeaders(block_of_row, table)


def _make_rows(
    series: NDArray[Any], starts: NDArray[Any], scalar_type: NDArray[Any], columns: dict[str, Any]
) -> Any:
    if "value" in columns:
        return Points(series, starts, scalar_type, **columns)
    return References(series, starts, **columns)
