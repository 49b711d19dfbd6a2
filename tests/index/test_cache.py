from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import builders as b
from tests.index.logs import append, open_catalog, picture, point, points, start, write
from tracklight.index import cache as cache_module
from tracklight.index.cache import find_cache_folder
from tracklight.index.catalog import Catalog
from tracklight.index.event_file import POINT_BYTES
from tracklight.logdir.local import LocalHandle
from tracklight.logdir.roots import parse_roots


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
    """The sizes of all reads from event files."""
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


def everything(catalog: Catalog) -> list[object]:
    """All that a catalog can say, as plain values."""
    said: list[object] = [catalog.runs()]
    for run in catalog.runs():
        said += [catalog.files(run.name), catalog.tags(run.name)]
        for tag in catalog.tags(run.name):
            one = catalog.scalar(run.name, tag.tag)
            said += [one.step.tolist(), one.wall_time.tolist(), one.value.tolist()]
            where = catalog.locate(run.name, tag.tag)
            said += [one.overwritten.tolist(), where.step.tolist(), where.record.tolist()]
    return said


def read_and_store(logdir: Path, store: Path | bool) -> list[object]:
    catalog = open_catalog(logdir, store)
    said = everything(catalog)
    catalog.close()
    return said


def packs(store: Path) -> list[Path]:
    return sorted(store.rglob("*.pack"))


def test_a_second_start_reads_no_event_file(
    logdir: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = read_and_store(logdir, False)
    assert read_and_store(logdir, store) == expected
    with counted_reads(monkeypatch) as sizes:
        assert read_and_store(logdir, store) == expected
    assert sizes == []


def test_a_grown_log_reads_only_what_is_new(
    logdir: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(logdir, "long", points(range(3000)))
    read_and_store(logdir, store)
    append(path, points([3000]))
    with counted_reads(monkeypatch) as sizes:
        said = read_and_store(logdir, store)
    # The new record, and the two ends of what was read, to be sure that it is the same file.
    assert sum(sizes) < 30_000 < path.stat().st_size
    assert said == read_and_store(logdir, False)


def test_growth_is_stored_as_what_it_adds(logdir: Path, store: Path) -> None:
    path = write(logdir, "long", points(range(3000)))
    read_and_store(logdir, store)
    first = sum(pack.stat().st_size for pack in packs(store))
    for round_ in range(5):
        append(path, points([3000 + round_]))
        read_and_store(logdir, store)
    assert len(packs(store)) == 6
    assert sum(pack.stat().st_size for pack in packs(store)) < 1.2 * first
    assert read_and_store(logdir, store) == read_and_store(logdir, False)


def test_many_small_packs_are_joined(logdir: Path, store: Path) -> None:
    path = write(logdir, "live", points([0]))
    for step in range(1, 40):
        append(path, points([step]) + (start(step) if step % 7 == 0 else b""))
        read_and_store(logdir, store)
    assert len(packs(store)) <= 17
    assert read_and_store(logdir, store) == read_and_store(logdir, False)


def test_a_replaced_file_is_not_taken_from_the_cache(logdir: Path, store: Path) -> None:
    read_and_store(logdir, store)
    write(logdir, "a", points(range(1000, 1400), since=1.8e9))
    for _ in range(2):
        assert read_and_store(logdir, store) == read_and_store(logdir, False)


def test_a_changed_byte_in_a_file_of_the_same_size_is_noticed(logdir: Path, store: Path) -> None:
    path = write(logdir, "a", points(range(300)))
    read_and_store(logdir, store)
    path.write_bytes(b.flip(path.read_bytes(), 5000))
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))
    said = read_and_store(logdir, store)
    assert said == read_and_store(logdir, False)


@settings(max_examples=60, deadline=None)
@given(st.floats(0, 1, exclude_max=True), st.booleans())
def test_damage_anywhere_in_a_pack_never_shows(
    tmp_path_factory: pytest.TempPathFactory, where: float, flipped: bool
) -> None:
    place = tmp_path_factory.mktemp("damage")
    write(place / "logs", "a", points(range(20)) + picture(1, b"pixels"))
    write(place / "logs", "b", points([0, 1]) + start(1) + points([1], tag="other"))
    expected = read_and_store(place / "logs", place / "cache")
    (pack,) = packs(place / "cache")
    content = pack.read_bytes()
    at = int(where * len(content))
    pack.write_bytes(b.flip(content, at) if flipped else content[:at])
    assert read_and_store(place / "logs", place / "cache") == expected


def test_a_folder_of_another_version_is_left_alone(logdir: Path, store: Path) -> None:
    read_and_store(logdir, store)
    foreign = store / "v0"
    foreign.mkdir()
    (foreign / "thing").write_text("not ours")
    read_and_store(logdir, store)
    assert (foreign / "thing").read_text() == "not ours"


def test_a_crash_while_storing_leaves_nothing_half(
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


def _fill(logdir: Path, store: Path) -> None:
    for _ in range(5):
        read_and_store(logdir, store)


def test_two_processes_may_share_it(logdir: Path, store: Path) -> None:
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_fill, args=(logdir, store)) for _ in range(2)]
    for one in both:
        one.start()
    for step in range(300, 310):
        append(logdir / "a" / "events.out.tfevents.1", point(step, 1.0))
    for one in both:
        one.join(60)
        assert one.exitcode == 0
    assert read_and_store(logdir, store) == read_and_store(logdir, False)


def test_its_size_is_bounded_by_throwing_out_other_logs(tmp_path: Path, store: Path) -> None:
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


def test_a_log_larger_than_the_limit_stays_in_memory(logdir: Path, store: Path) -> None:
    catalog = open_catalog(logdir, store, cache_bytes=1000)
    assert catalog.scalar("a", "loss").step.tolist() == list(range(300))
    catalog.close()
    assert packs(store) == []


def test_without_a_cache_nothing_is_written(
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


def test_a_small_memory_budget_moves_columns_to_disk(logdir: Path, store: Path) -> None:
    write(logdir, "long", b"".join(points(range(50), tag=f"tag{n}") for n in range(60)))
    expected = read_and_store(logdir, False)
    for cache in (False, store):
        catalog = Catalog(parse_roots(logdir), cache=cache, memory_bytes=10_000)
        catalog.refresh()
        files = [file for shard in catalog._shards for file in shard._files()]
        assert sum(file.count_memory_bytes() for file in files) <= 5_000
        assert sum(file.count_points() for file in files) * POINT_BYTES > 70_000
        assert everything(catalog) == expected
        catalog.close()
