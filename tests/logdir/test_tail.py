from __future__ import annotations

import os
import random
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders import event, flip, image, record, scalar, session, simple, summary, value
from tests.scanning import Reading, gather, read_file
from tracklight.formats.batch import LARGE_RECORD_BYTES, Batch, ColumnMemory, DamageKind
from tracklight.formats.scanner import Scanner, create_scanner
from tracklight.logdir.filesystem import FileHandle, LocalFileSystem, LocalHandle, ReadSizes
from tracklight.logdir.tail import EventFileTail, ReadBuffers, matches_fingerprint


class RecordingHandle(LocalHandle):
    def __init__(self, path: str, reads: list[tuple[int, int]]) -> None:
        super().__init__(path)
        self._reads = reads

    def read_into(self, buffer: memoryview, offset: int) -> int:
        self._reads.append((offset, len(buffer)))
        return super().read_into(buffer, offset)


class RecordingFileSystem(LocalFileSystem):
    """A local file system that records every read."""

    def __init__(self, sizes: ReadSizes = LocalFileSystem.read_sizes) -> None:
        self.read_sizes = sizes
        self.reads: list[tuple[int, int]] = []

    def open(self, path: str) -> FileHandle:
        return RecordingHandle(path, self.reads)

    @property
    def read_bytes(self) -> int:
        return sum(size for _, size in self.reads)


TINY = ReadSizes(min_bytes=16, initial_bytes=64, max_bytes=1 << 20)


def put(directory: Path, data: bytes) -> str:
    path = directory / "events.tfevents"
    path.write_bytes(data)
    return str(path)


def read_all(path: str, fs: LocalFileSystem | None = None) -> Reading:
    return gather(
        EventFileTail(fs or LocalFileSystem(), path, create_scanner()).iter_batches(
            os.stat(path).st_size
        )
    )


def scalars(count: int, tag: str = "loss", start: int = 0) -> bytes:
    return b"".join(scalar(tag, step, step / 2) for step in range(start, start + count))


@pytest.fixture(scope="module")
def picture() -> bytes:
    """Return a record four times as long as the threshold for large records."""
    return record(event(summary(value("photo", image(bytes(4 * LARGE_RECORD_BYTES)))), step=1))


def test_reads_file(tmp_path: Path) -> None:
    reading = read_all(put(tmp_path, scalars(1000)))
    assert reading.records == 1000
    assert [row[0] for row in reading.points[b"loss"]] == list(range(1000))


@pytest.mark.parametrize("sizes", [TINY, LocalFileSystem.read_sizes])
def test_result_does_not_depend_on_read_sizes(sizes: ReadSizes, nasty_logdir: Path) -> None:
    paths = [str(path) for path in nasty_logdir.rglob("*tfevents*") if path.is_file()]
    assert len(paths) > 50
    for path in paths:
        expected = gather(read_file(create_scanner(), Path(path).read_bytes()))
        assert read_all(path, RecordingFileSystem(sizes)) == expected, path


def test_never_reads_beyond_given_size(tmp_path: Path) -> None:
    path = put(tmp_path, scalars(1000))
    size = 7777
    fs = RecordingFileSystem(TINY)
    tail = EventFileTail(fs, path, create_scanner())
    reading = gather(tail.iter_batches(size))
    assert max(offset + count for offset, count in fs.reads) == size
    assert 0 < reading.records < 1000 and reading.damage == []
    assert tail.scanner.position <= size


def test_continues_where_it_stopped(tmp_path: Path) -> None:
    data = scalars(300) + record(event(session(1), step=100)) + scalars(300, start=100)
    path = tmp_path / "events.tfevents"
    path.touch()
    fs, scanner = RecordingFileSystem(TINY), create_scanner()
    tail, batches, rng = EventFileTail(fs, str(path), scanner), list[Batch](), random.Random(4)
    written = 0
    while written < len(data):  # a writer that may flush in the middle of a record
        part = data[written : written + rng.randrange(1, 200)]
        with path.open("ab") as file:
            file.write(part)
        written += len(part)
        batches += tail.iter_batches(written)
    assert gather(batches) == gather(read_file(create_scanner(), data))
    assert scanner.position == len(data)


def test_waits_for_rest_of_truncated_record(tmp_path: Path) -> None:
    data = scalars(2)
    path = put(tmp_path, data[:-5])
    tail = EventFileTail(LocalFileSystem(), path, create_scanner())
    assert gather(tail.iter_batches(len(data) - 5)).records == 1
    assert list(tail.iter_batches(len(data) - 5)) == []
    put(tmp_path, data)
    rest = gather(tail.iter_batches(len(data)), tags=[b"loss"])
    assert (rest.records, rest.damage) == (1, [])


def test_ends_if_file_is_shorter_than_its_stat(tmp_path: Path) -> None:
    path = put(tmp_path, scalars(100))
    tail = EventFileTail(RecordingFileSystem(TINY), path, create_scanner())
    assert gather(tail.iter_batches(10**9)).records == 100
    os.truncate(path, 0)
    assert list(tail.iter_batches(10**9)) == []


def test_ends_if_scanner_does_not_advance(tmp_path: Path) -> None:
    class Stuck:
        position, lost_at, torn_end = 0, -1, -1

        def rewind(self, size: int) -> None: ...

        def scan(self, data: memoryview, size: int) -> Batch:
            return create_scanner().scan(b"", size)

    stuck: Scanner = Stuck()  # type: ignore[assignment]
    fs = RecordingFileSystem(ReadSizes(16, 64, 1024))
    assert list(EventFileTail(fs, put(tmp_path, scalars(1000)), stuck).iter_batches(10_000)) == []
    assert [count for _, count in fs.reads if count] == [64, 128, 256, 512, 1024]


def test_does_not_open_unchanged_file(tmp_path: Path) -> None:
    path = put(tmp_path, scalars(10))
    size = os.stat(path).st_size
    tail = EventFileTail(LocalFileSystem(), path, create_scanner())
    list(tail.iter_batches(size))
    os.unlink(path)
    assert list(tail.iter_batches(size)) == []


def test_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(
            EventFileTail(LocalFileSystem(), str(tmp_path / "gone"), create_scanner()).iter_batches(
                10
            )
        )


class TestWindow:
    def test_grows_while_records_are_small(self, tmp_path: Path) -> None:
        path = put(tmp_path, scalars(100) * 2000)
        size = os.stat(path).st_size
        fs = RecordingFileSystem(
            ReadSizes(min_bytes=4 << 10, initial_bytes=64 << 10, max_bytes=1 << 20)
        )
        assert read_all(path, fs).records == 200_000
        sizes = [count for _, count in fs.reads]
        assert sizes[:4] == [64 << 10, 256 << 10, 1 << 20, 1 << 20]
        assert max(sizes) == 1 << 20
        assert len(sizes) < size / (1 << 20) + 10

    def test_stays_small_with_many_records_per_series(self, tmp_path: Path) -> None:
        sizes = ReadSizes(
            min_bytes=4 << 10, initial_bytes=64 << 10, max_bytes=1 << 20, max_dense_bytes=64 << 10
        )
        dense, sparse = tmp_path / "dense", tmp_path / "sparse"
        for directory in (dense, sparse):
            directory.mkdir()
        few_series = RecordingFileSystem(sizes)
        assert read_all(put(dense, scalars(20_000)), few_series).records == 20_000
        assert max(count for _, count in few_series.reads) == 64 << 10
        many_series = RecordingFileSystem(sizes)
        names = b"".join(scalar(f"weight {at}", 0, 0.5) for at in range(20_000))
        assert read_all(put(sparse, names), many_series).records == 20_000
        assert max(count for _, count in many_series.reads) > 256 << 10

    def test_skips_large_records(self, tmp_path: Path, picture: bytes) -> None:
        path = put(tmp_path, (picture + scalars(3)) * 40)
        fs = RecordingFileSystem()
        reading = read_all(path, fs)
        assert len(reading.references[b"photo"]) == 40
        assert len(reading.points[b"loss"]) == 120
        assert fs.read_bytes < os.stat(path).st_size / 10

    def test_grows_again_after_large_records(self, tmp_path: Path, picture: bytes) -> None:
        path = put(tmp_path, picture + scalars(100) * 500)
        fs = RecordingFileSystem()
        assert read_all(path, fs).records == 1 + 50_000
        assert max(count for _, count in fs.reads) >= 1 << 20

    def test_adapts_to_record_just_below_large(self, tmp_path: Path) -> None:
        almost = record(
            event(summary(value("photo", image(bytes(LARGE_RECORD_BYTES - 100)))), step=1)
        )
        fs = RecordingFileSystem(ReadSizes(min_bytes=16, initial_bytes=64, max_bytes=8 << 20))
        reading = read_all(put(tmp_path, scalars(1) + almost + scalars(1)), fs)
        assert (reading.records, reading.damage) == (3, [])


class TestColumnMemory:
    def test_columns_do_not_overlap(self) -> None:
        memory = ColumnMemory()
        sizes = [1, 20_000, 400_000, 400_000, 30_000, 2_000_000]
        columns = [column for rows in sizes for column in memory.allocate_points(rows)]
        for number, column in enumerate(columns):
            column[:] = number
        assert [len(column) for column in columns[::3]] == sizes
        for number, column in enumerate(columns):
            assert (column == number).all()

    def test_blocks_are_freed_with_their_columns(self) -> None:
        memory = ColumnMemory()
        columns = memory.allocate_points(100_000)
        block = weakref.ref(columns[0].base)
        assert memory.allocate_points(100_000)[0].base is block()
        memory.clear()
        assert block() is not None
        del columns
        assert block() is None


class TestLargeRecords:
    def test_reads_record_with_many_small_values_as_a_whole(self, tmp_path: Path) -> None:
        values = [value(f"a rather long name of a tag {i}", simple(i)) for i in range(8000)]
        many = record(event(summary(*values), step=1))
        assert len(many) > LARGE_RECORD_BYTES
        fs = RecordingFileSystem(ReadSizes(min_bytes=16, initial_bytes=64, max_bytes=1 << 10))
        reading = read_all(put(tmp_path, scalars(1) + many + scalars(1)), fs)
        assert (len(reading.points), reading.records) == (8001, 3)

    def test_waits_for_truncated_record(self, tmp_path: Path, picture: bytes) -> None:
        path = put(tmp_path, scalars(1) + picture[:-1])
        tail = EventFileTail(LocalFileSystem(), path, create_scanner())
        assert gather(tail.iter_batches(os.stat(path).st_size)).records == 1
        put(tmp_path, scalars(1) + picture)
        rest = gather(tail.iter_batches(os.stat(path).st_size), tags=[b"loss"])
        assert rest.references.keys() == {b"photo"}

    def test_after_damage(self, tmp_path: Path, picture: bytes) -> None:
        data = scalars(1) + flip(scalars(1), 3) + picture + scalars(1)
        reading = read_all(put(tmp_path, data), RecordingFileSystem(TINY))
        assert reading.references.keys() == {b"photo"}
        assert len(reading.points[b"loss"]) == 2
        assert [(hurt.offset, hurt.kind) for hurt in reading.damage] == [
            (len(scalars(1)), DamageKind.HEADER)
        ]

    def test_file_truncated_while_scanning(self, tmp_path: Path, picture: bytes) -> None:
        path = put(tmp_path, picture)
        os.truncate(path, 100)
        tail = EventFileTail(LocalFileSystem(), path, create_scanner())
        assert gather(tail.iter_batches(len(picture))).records == 0
        assert tail.scanner.position == 0


class TestFingerprint:
    def test_covers_bytes_that_were_read(self, tmp_path: Path) -> None:
        path = put(tmp_path, scalars(500) + b"torn")
        tail = EventFileTail(LocalFileSystem(), path, create_scanner())
        list(tail.iter_batches(os.stat(path).st_size))
        assert tail.fingerprint is not None
        assert tail.fingerprint.position == tail.scanner.position == len(scalars(500))
        assert matches_fingerprint(LocalFileSystem(), path, tail.fingerprint)

    def test_belongs_to_open_file_after_replacement(self, tmp_path: Path) -> None:
        path = put(tmp_path, scalars(500))
        tail = EventFileTail(RecordingFileSystem(TINY), path, create_scanner())
        batches = tail.iter_batches(os.stat(path).st_size)
        next(batches)
        other = tmp_path / "other"
        other.write_bytes(scalars(500, tag="lost"))
        other.replace(path)
        list(batches)
        assert tail.fingerprint is not None
        assert not matches_fingerprint(LocalFileSystem(), path, tail.fingerprint)


def test_interleaved_reads_on_one_thread_do_not_mix(tmp_path: Path) -> None:
    paths = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        paths.append(put(tmp_path / name, scalars(400, tag=name)))
    fs = RecordingFileSystem(TINY)
    sizes = [os.stat(path).st_size for path in paths]
    turns: list[Iterator[Batch]] = [
        EventFileTail(fs, path, create_scanner()).iter_batches(size)
        for path, size in zip(paths, sizes, strict=True)
    ]
    found: list[list[Batch]] = [[], []]
    for pair in zip(*turns, strict=True):
        for batches, batch in zip(found, pair, strict=True):
            batches.append(batch)
    for name, batches in zip((b"a", b"b"), found, strict=True):
        reading = gather(batches)
        assert (list(reading.points), reading.records, reading.damage) == ([name], 400, [])


def test_buffers_are_used_again_and_never_shared() -> None:
    buffers = ReadBuffers()
    with buffers.borrow() as one, buffers.borrow() as other:
        memory = one.get(10).obj
        assert one.get(5).obj is memory
        assert other.get(10).obj is not memory
    with buffers.borrow() as again:
        assert again is one
    buffers.clear()
    with buffers.borrow() as new:
        assert new not in (one, other)
