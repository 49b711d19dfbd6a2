from __future__ import annotations

from collections.abc import Iterator

import pytest

from tracklight.logdir import object_store
from tracklight.logdir.filesystem import FileStat
from tracklight.logdir.object_store import (
    ACTIVE_S,
    MAX_COMPLETE_INTERVAL_S,
    RequestMeter,
    StoreListing,
    count_pages,
)

NAME = "events.out.tfevents.1"
LONG_AGO_S, NOW_S = 1_000_000.0, 2_000_000.0


class Bucket:
    """Keys in memory, with the requests that a store would have answered."""

    def __init__(self, meter: RequestMeter) -> None:
        self.files: dict[str, FileStat] = {}
        self.listed: list[str] = []
        self.unavailable: set[str] = set()
        self._meter = meter

    def put(self, key: str, size: int = 1, time_s: float = LONG_AGO_S) -> None:
        self.files[f"bucket/{key}"] = FileStat(size, int(time_s * 1e9), str(size))

    def list_below(self, prefix: str) -> dict[str, FileStat]:
        below = (prefix + "/", prefix)
        found = {
            key: stat
            for key, stat in self.files.items()
            if key == prefix or key.startswith(below[0])
        }
        self._count(prefix, len(found))
        return found

    def list_folder(self, prefix: str) -> tuple[dict[str, FileStat], list[str]]:
        start = len(prefix) + 1
        below = {key: stat for key, stat in self.files.items() if key.startswith(prefix + "/")}
        files = {key: stat for key, stat in below.items() if "/" not in key[start:]}
        folders = {key[: key.index("/", start)] for key in below if "/" in key[start:]}
        self._count(prefix, len(files) + len(folders))
        return files, sorted(folders)

    def _count(self, prefix: str, keys: int) -> None:
        if prefix in self.unavailable:
            raise OSError("no route to host")
        self.listed.append(prefix)
        self._meter.add("list", count_pages(keys))


class Clock:
    def __init__(self) -> None:
        self.now_s = NOW_S

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def requested(monkeypatch: pytest.MonkeyPatch) -> RequestMeter:
    meter = RequestMeter()
    monkeypatch.setattr(object_store, "METER", meter)
    return meter


@pytest.fixture
def bucket(requested: RequestMeter) -> Bucket:
    return Bucket(requested)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def make_listing(bucket: Bucket, clock: Clock) -> StoreListing:
    return StoreListing(bucket, "bucket/logs", clock, clock)


def put_runs(bucket: Bucket, count: int, folder: str = "logs") -> None:
    for number in range(count):
        bucket.put(f"{folder}/run{number}/{NAME}")


def update(known: StoreListing, bucket: Bucket) -> list[str]:
    """Update a listing; return the folders that were listed."""
    bucket.listed.clear()
    assert known.update() == []
    return bucket.listed


def test_small_log_is_always_listed_completely(bucket: Bucket, clock: Clock) -> None:
    put_runs(bucket, 20)
    known = make_listing(bucket, clock)
    update(known, bucket)
    bucket.put(f"logs/new/{NAME}")
    del bucket.files[f"bucket/logs/run3/{NAME}"]
    assert update(known, bucket) == ["bucket/logs"]
    assert known.files == bucket.files


def test_folders_are_listed_separately_at_first(bucket: Bucket, clock: Clock) -> None:
    for team in "abc":
        put_runs(bucket, 2000, f"logs/{team}")
    bucket.put(f"logs/{NAME}")
    known = make_listing(bucket, clock)
    assert sorted(update(known, bucket)) == ["bucket/logs", *(f"bucket/logs/{it}" for it in "abc")]
    assert known.files == bucket.files


def test_many_small_folders_are_listed_together(bucket: Bucket, clock: Clock) -> None:
    put_runs(bucket, 5000)
    known = make_listing(bucket, clock)
    # The first time the number of folders is not known.
    assert update(known, bucket) == ["bucket/logs", "bucket/logs"]
    clock.now_s += MAX_COMPLETE_INTERVAL_S
    assert update(known, bucket) == ["bucket/logs"]
    assert known.files == bucket.files


def test_only_active_folders_are_listed_again(
    bucket: Bucket, clock: Clock, requested: RequestMeter
) -> None:
    put_runs(bucket, 5000)
    bucket.put(f"logs/run7/{NAME}", 10, NOW_S - 5)
    known = make_listing(bucket, clock)
    update(known, bucket)
    before = requested.get_own().total
    bucket.put(f"logs/run7/{NAME}", 20, NOW_S)
    bucket.put(f"logs/elsewhere/{NAME}")
    assert update(known, bucket) == ["bucket/logs/run7"]
    assert requested.get_own().total - before == 1
    assert known.files[f"bucket/logs/run7/{NAME}"].size == 20
    assert len(known.files) == 5000

    # The complete listing takes five requests and is repeated after as many seconds.
    clock.now_s += 5
    assert update(known, bucket) == ["bucket/logs"]
    assert known.files == bucket.files


def test_new_run_beside_an_active_one_is_found_at_once(bucket: Bucket, clock: Clock) -> None:
    put_runs(bucket, 3000)
    put_runs(bucket, 10, "logs/sweep/today")
    bucket.put(f"logs/sweep/today/run3/{NAME}", 10, NOW_S - 5)
    known = make_listing(bucket, clock)
    update(known, bucket)
    bucket.put(f"logs/sweep/tomorrow/run0/{NAME}")
    del bucket.files[f"bucket/logs/sweep/today/run9/{NAME}"]
    assert update(known, bucket) == ["bucket/logs/sweep"]
    assert known.files == bucket.files


def test_run_in_an_inactive_folder_is_found_within_five_minutes(
    bucket: Bucket, clock: Clock
) -> None:
    put_runs(bucket, 3000)
    known = make_listing(bucket, clock)
    update(known, bucket)
    known._cost = 100_000  # of a bucket that is too large for a test
    bucket.put(f"logs/run5000/{NAME}")
    clock.now_s += MAX_COMPLETE_INTERVAL_S - 1
    assert update(known, bucket) == []
    clock.now_s += 1
    assert update(known, bucket) == ["bucket/logs"]
    assert known.files == bucket.files
    # From now on it is active, until nothing is written to it for a while.
    clock.now_s += 1
    assert update(known, bucket) == ["bucket/logs/run5000"]
    known._cost, known._complete_s = 100_000, clock.now_s + ACTIVE_S
    clock.now_s += ACTIVE_S
    assert update(known, bucket) == []


def test_files_in_a_large_active_folder(bucket: Bucket, clock: Clock) -> None:
    put_runs(bucket, 900)
    for number in range(900):
        bucket.put(f"logs/run{number}/{NAME}.2")
    bucket.put(f"logs/{NAME}", 10, NOW_S)
    known = make_listing(bucket, clock)
    update(known, bucket)
    bucket.put(f"logs/{NAME}", 20, NOW_S)
    bucket.put(f"logs/another/{NAME}")
    assert update(known, bucket) == ["bucket/logs", "bucket/logs/another"]
    assert known.files == bucket.files


def test_folder_that_cannot_be_listed_keeps_its_files(bucket: Bucket, clock: Clock) -> None:
    put_runs(bucket, 3000)
    for run in ("run1", "run2"):
        bucket.put(f"logs/{run}/{NAME}", 10, NOW_S)
    known = make_listing(bucket, clock)
    known.update()
    bucket.unavailable = {"bucket/logs/run1"}
    bucket.put(f"logs/run2/{NAME}", 20, NOW_S)
    assert [*map(str, known.update())] == ['cannot list "bucket/logs/run1": no route to host']
    assert known.files == bucket.files
    bucket.unavailable = {"bucket/logs"}
    clock.now_s += MAX_COMPLETE_INTERVAL_S
    assert [*map(str, known.update())] == ['cannot list "bucket/logs": no route to host']
    assert known.files == bucket.files


def test_first_listing_that_fails_is_an_error(bucket: Bucket, clock: Clock) -> None:
    bucket.unavailable = {"bucket/logs"}
    with pytest.raises(OSError, match="no route to host"):
        make_listing(bucket, clock).update()


def test_spent_budget_delays_the_next_listing(
    bucket: Bucket, clock: Clock, requested: RequestMeter
) -> None:
    requested._budget = object_store.RequestBudget(60, clock)
    put_runs(bucket, 5)
    known = make_listing(bucket, clock)
    known.update()
    requested.add("read", 1000)
    bucket.put(f"logs/new/{NAME}")
    (problem,) = known.update()
    assert str(problem) == (
        "the budget of 60 requests per hour is spent; the log is refreshed again at 04:35 UTC"
    )
    # At most one hour's worth is owed, whatever was read.
    clock.now_s += 3600 + 60
    assert known.update() == []
    assert known.files == bucket.files


@pytest.fixture
def budget(clock: Clock) -> Iterator[object_store.RequestBudget]:
    yield object_store.RequestBudget(3600, clock)


def test_budget_is_refilled_over_time(budget: object_store.RequestBudget, clock: Clock) -> None:
    assert budget.get_wait_s(3600) == 0
    budget.spend(3590)
    assert budget.get_wait_s(10) == 0
    assert budget.get_wait_s(30) == 20
    clock.now_s += 20
    assert budget.get_wait_s(30) == 0
    clock.now_s += 10_000
    assert budget.remaining == 3600
    # More than the whole budget has to wait for all of it only.
    assert budget.get_wait_s(10_000) == 0


def test_counts_of_shards_are_added(requested: RequestMeter) -> None:
    requested.set_budget(100)
    shard = RequestMeter()
    requested.add("list", 2)
    shard.add("read", 3, 50)
    requested.set_shard("a", shard.get_own())
    shard.add("read", 1, 10)
    shard.add_retry()
    requested.set_shard("a", shard.get_own())
    totals = requested.get_totals()
    assert totals.requests == {"list": 2, "read": 4}
    assert (totals.bytes["read"], totals.retries) == (60, 1)
    assert requested.budget is not None
    assert requested.budget.remaining == pytest.approx(94, abs=0.1)
