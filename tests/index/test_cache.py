from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders as b
from tests.index.logs import append, open_catalog, picture, point, points, start, write
from tracklight.index import cache as cache_module
from tracklight.index.cache import PackCache, SegmentStore, find_cache_folder
from tracklight.index.catalog import Catalog
from tracklight.index.event_file import POINT_BYTES, EventFile, EventFileReader
from tracklight.index.pack import Pack
from tracklight.logdir.access import parse_roots
from tracklight.logdir.filesystem import LocalFileSystem, LocalHandle


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    logdir = tmp_path / "logs"
    write(logdir, "a", points(range(300)) + picture(1, b"pixels") + points([5], tag="other"))
    write(logdir, "b", points([0, 1, 2]) + start(1) + points([1, 2, 3]))
    write(logdir, "b", b"damage" + points([9]), name="tfevents.2")
    return logdir


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@contextmanager
def counted_reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Record the sizes of all reads from event files."""
    sizes: list[int] = []

    def read(self: LocalHandle, offset: int, size: int) -> bytes:
        data = real_read(self, offset, size)
        sizes.append(len(data))
        return data

    def read_into(self: LocalHandle, buffer: memoryview, offset: int) -> int:
        sizes.append(count := real_read_into(self, buffer, offset))
        return count

    real_read, real_read_into = LocalHandle.read, LocalHandle.read_into
    with monkeypatch.context() as patch:
        patch.setattr(LocalHandle, "read", read)
        patch.setattr(LocalHandle, "read_into", read_into)
        yield sizes


def query_everything(catalog: Catalog) -> list[object]:
    """Return the results of all queries of a catalog, as plain values."""
    results: list[object] = [catalog.runs()]
    for run in catalog.runs():
        results += [catalog.files(run.name), catalog.tags(run.name)]
        for tag in catalog.tags(run.name):
            series = catalog.scalar(run.name, tag.tag)
            results += [series.step.tolist(), series.wall_time.tolist(), series.value.tolist()]
            values = catalog.locate(run.name, tag.tag)
            results += [series.overwritten.tolist(), values.step.tolist(), values.record.tolist()]
    return results


def read_and_store(logdir: Path, store: Path | bool) -> list[object]:
    catalog = open_catalog(logdir, store)
    results = query_everything(catalog)
    catalog.close()
    return results


def packs(store: Path) -> list[Path]:
    return sorted(store.rglob("*.pack"))


@pytest.mark.in_process
def test_second_start_reads_no_event_file(
    logdir: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = read_and_store(logdir, False)
    assert read_and_store(logdir, store) == expected
    with counted_reads(monkeypatch) as sizes:
        assert read_and_store(logdir, store) == expected
    assert sizes == []


@pytest.mark.in_process
def test_reads_only_new_records_of_grown_log(
    logdir: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(logdir, "long", points(range(3000)))
    read_and_store(logdir, store)
    append(path, points([3000]))
    with counted_reads(monkeypatch) as sizes:
        results = read_and_store(logdir, store)
    # The new record, and both ends of what was read to verify the fingerprint.
    assert sum(sizes) < 30_000 < path.stat().st_size
    assert results == read_and_store(logdir, False)


@pytest.mark.in_process
def test_stores_only_new_rows_of_grown_log(logdir: Path, store: Path) -> None:
    path = write(logdir, "long", points(range(3000)))
    read_and_store(logdir, store)
    first = sum(pack.stat().st_size for pack in packs(store))
    for round_ in range(5):
        append(path, points([3000 + round_]))
        read_and_store(logdir, store)
    assert len(packs(store)) == 6
    assert sum(pack.stat().st_size for pack in packs(store)) < 1.2 * first
    assert read_and_store(logdir, store) == read_and_store(logdir, False)


def test_merges_many_small_packs(logdir: Path, store: Path) -> None:
    path = write(logdir, "live", points([0]))
    for step in range(1, 40):
        append(path, points([step]) + (start(step) if step % 7 == 0 else b""))
        read_and_store(logdir, store)
    assert len(packs(store)) <= 17
    assert read_and_store(logdir, store) == read_and_store(logdir, False)


def test_ignores_cache_of_replaced_file(logdir: Path, store: Path) -> None:
    read_and_store(logdir, store)
    write(logdir, "a", points(range(1000, 1400), since=1.8e9))
    for _ in range(2):
        assert read_and_store(logdir, store) == read_and_store(logdir, False)


def test_detects_changed_byte_in_file_of_same_size(logdir: Path, store: Path) -> None:
    path = write(logdir, "a", points(range(300)))
    read_and_store(logdir, store)
    path.write_bytes(b.flip(path.read_bytes(), 5000))
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))
    results = read_and_store(logdir, store)
    assert results == read_and_store(logdir, False)


@pytest.mark.in_process
@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1, exclude_max=True), st.booleans())
def test_recovers_from_corruption_anywhere_in_pack(
    tmp_path_factory: pytest.TempPathFactory, where: float, flipped: bool
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    write(folder / "logs", "a", points(range(20)) + picture(1, b"pixels"))
    write(folder / "logs", "b", points([0, 1]) + start(1) + points([1], tag="other"))
    expected = read_and_store(folder / "logs", folder / "cache")
    (pack,) = packs(folder / "cache")
    content = pack.read_bytes()
    at = int(where * len(content))
    pack.write_bytes(b.flip(content, at) if flipped else content[:at])
    assert read_and_store(folder / "logs", folder / "cache") == expected


def test_ignores_folder_of_other_version(logdir: Path, store: Path) -> None:
    read_and_store(logdir, store)
    foreign = store / "v0"
    foreign.mkdir()
    (foreign / "thing").write_text("not ours")
    read_and_store(logdir, store)
    assert (foreign / "thing").read_text() == "not ours"


@pytest.mark.in_process
def test_crash_while_storing_leaves_no_partial_pack(
    logdir: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("tracklight.index.pack._write_block", fail)
        catalog = open_catalog(logdir, store)
        assert catalog.scalar("a", "loss").step.tolist() == list(range(300))
        catalog.close()
    assert list(store.rglob("*.*")) == []
    assert read_and_store(logdir, store) == read_and_store(logdir, False)


def _read_in_process(logdir: Path, store: Path) -> None:
    for _ in range(5):
        read_and_store(logdir, store)


def test_two_processes_share_cache(logdir: Path, store: Path) -> None:
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_read_in_process, args=(logdir, store)) for _ in range(2)]
    for process in both:
        process.start()
    for step in range(300, 310):
        append(logdir / "a" / "events.out.tfevents.1", point(step, 1.0))
    for process in both:
        process.join(300)
        assert process.exitcode == 0
    assert read_and_store(logdir, store) == read_and_store(logdir, False)


def test_deletes_caches_of_other_logs_beyond_limit(tmp_path: Path, store: Path) -> None:
    logs = [tmp_path / f"logs{number}" for number in range(3)]
    for age, log in enumerate(logs):
        write(log, "run", points(range(1000)))
        catalog = open_catalog(log, store, cache_bytes=80_000)
        catalog.close()
        os.utime(_folder(log, store), (age, age))
    kept = [log for log in logs if _folder(log, store).exists()]
    assert kept == logs[1:]


def _folder(log: Path, store: Path) -> Path:
    folder = find_cache_folder([str(log)], store)
    assert folder is not None
    return folder


def test_keeps_log_larger_than_limit_in_memory(logdir: Path, store: Path) -> None:
    catalog = open_catalog(logdir, store, cache_bytes=1000)
    assert catalog.scalar("a", "loss").step.tolist() == list(range(300))
    catalog.close()
    assert packs(store) == []


def test_writes_nothing_without_cache(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    before = sorted(tmp_path.rglob("*"))
    read_and_store(logdir, False)
    assert sorted(tmp_path.rglob("*")) == before


def test_it_is_never_inside_a_log_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "logs" / ".cache"))
    monkeypatch.setattr(cache_module.tempfile, "gettempdir", lambda: str(tmp_path / "tmp"))
    folder = find_cache_folder([str(tmp_path / "logs")])
    assert folder is not None and folder.is_relative_to(tmp_path / "tmp")
    assert find_cache_folder([str(tmp_path)]) is None


def test_small_memory_limit_moves_rows_to_disk(logdir: Path, store: Path) -> None:
    write(logdir, "long", b"".join(points(range(50), tag=f"tag{n}") for n in range(60)))
    expected = read_and_store(logdir, False)
    for cache in (False, store):
        catalog = Catalog(parse_roots(logdir), cache=cache, memory_bytes=10_000)
        catalog.refresh()
        assert query_everything(catalog) == expected
        catalog.close()


@pytest.mark.parametrize("has_cache", [False, True])
def test_store_bounds_memory_of_large_file(tmp_path: Path, has_cache: bool) -> None:
    path = write(tmp_path, "long", b"".join(points(range(50), tag=f"tag{n}") for n in range(60)))
    lock = threading.RLock()
    cache = PackCache(tmp_path / "cache") if has_cache else None
    store = SegmentStore(cache, memory_bytes=10_000, threads=1, lock=lock)
    fs, file = LocalFileSystem(), EventFile(str(path))
    stat = fs.find_stat(str(path))
    assert stat is not None
    EventFileReader(lock).read(fs, file, stat, lambda _: store.store_if_large(file))
    store.store_if_due([file])
    assert file.count_memory_bytes() <= 5_000
    assert file.count_points() * POINT_BYTES > 70_000
    store.close([file])


def test_keeps_integers_exact(tmp_path: Path, store: Path) -> None:
    big = 2**62 + 1
    raw = b.content(big.to_bytes(8, "little"))
    value = b.value("count", b.metadata("scalars"), b.tensor(b.INT64, raw))
    write(tmp_path / "logs", "run", b.record(b.event(b.summary(value), step=1, wall=1.0)))
    read_and_store(tmp_path / "logs", store)
    catalog = open_catalog(tmp_path / "logs", store)
    assert catalog.scalar("run", "count").value.tolist() == [big]
    catalog.close()


@pytest.mark.in_process
def test_small_packs_around_a_large_one_are_not_merged(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of a file must stay in the order in which they were written."""
    monkeypatch.setattr(cache_module, "_MAX_SMALL_PACKS", 2)
    monkeypatch.setattr(cache_module, "_SMALL_PACK_BYTES", 10_000)
    path = write(tmp_path / "logs", "live", points([0]))
    read_and_store(tmp_path / "logs", store)
    append(path, points(range(1, 3000)))
    read_and_store(tmp_path / "logs", store)
    for step in range(3000, 3005):
        append(path, points([step]))
        with counted_reads(monkeypatch) as sizes:
            results = read_and_store(tmp_path / "logs", store)
        assert sum(sizes) < 30_000 < path.stat().st_size
    assert results == read_and_store(tmp_path / "logs", False)
    assert len(packs(store)) <= 5


@pytest.mark.in_process
def test_pack_that_is_corrupt_when_it_is_merged_is_deleted(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_MAX_SMALL_PACKS", 2)
    for run in ("one", "two"):
        write(tmp_path / "logs", run, points(range(5)))
        read_and_store(tmp_path / "logs", store)
    broken, intact = packs(store)
    content = broken.read_bytes()
    broken.write_bytes(b.flip(content, len(content) // 4))  # a row
    (segment,) = [stored.load() for stored in Pack(intact).list_segments()]
    PackCache(intact.parent).store([segment], 100)
    assert broken not in packs(store)
    assert len(packs(store)) == 2
    for _ in range(2):
        assert read_and_store(tmp_path / "logs", store) == read_and_store(tmp_path / "logs", False)


def test_temporary_files_of_killed_processes_are_deleted(logdir: Path, store: Path) -> None:
    read_and_store(logdir, store)
    folder = packs(store)[0].parent
    old, new = folder / "a.pack.part-1", folder / "b.pack.part-2"
    for path in (old, new):
        path.touch()
    os.utime(old, (1e9, 1e9))
    read_and_store(logdir, store)
    assert not old.exists()
    assert new.exists()


def test_pack_that_was_deleted_is_read_from_the_log(
    logdir: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may merge packs while this one lists them."""
    read_and_store(logdir, store)
    gone = packs(store)[0].with_name("0-1-1.pack")
    list_packs = PackCache._list_packs
    monkeypatch.setattr(PackCache, "_list_packs", lambda self: [gone, *list_packs(self)])
    assert read_and_store(logdir, store) == read_and_store(logdir, False)
