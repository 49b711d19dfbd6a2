"""The run that ends the process of a shard is found and excluded; others are not."""

from __future__ import annotations

from collections.abc import Collection

from tracklight.index.cluster.remote_shard import CrashIsolation


def read_all(crashes: CrashIsolation, runs: Collection[str], fatal: str) -> str | None:
    """Read all runs like a new process; it ends at the fatal run, unless that is excluded."""
    for batch in crashes.split(runs):
        crashes.begin(batch)
        if fatal in batch and fatal not in crashes.excluded:
            return crashes.crash()
    crashes.clear()
    return None


def test_finds_one_run_of_many() -> None:
    crashes = CrashIsolation()
    runs = [f"run-{number}" for number in range(1000)]
    found = [read_all(crashes, runs, "run-600") for _ in range(6)]
    assert found == [None, None, None, None, None, "run-600"]
    assert crashes.excluded == {"run-600"}
    assert read_all(crashes, runs, "run-600") is None
    assert crashes.split(runs) == [runs]


def test_excludes_a_single_run_after_three_crashes() -> None:
    crashes = CrashIsolation()
    assert [read_all(crashes, ["a"], "a") for _ in range(3)] == [None, None, "a"]


def test_forgets_suspects_that_could_be_read() -> None:
    crashes = CrashIsolation()
    for _ in range(4):
        assert read_all(crashes, ["a", "b"], "a") is None
        assert crashes.split(["a", "b"]) == [["a"], ["b"]]
        assert read_all(crashes, ["a", "b"], "") is None
        assert crashes.split(["a", "b"]) == [["a", "b"]]


def test_crash_of_an_idle_process_has_no_suspects() -> None:
    crashes = CrashIsolation()
    crashes.begin(["a"])
    crashes.end()
    assert [crashes.crash() for _ in range(4)] == [None] * 4
    assert crashes.split(["a", "b"]) == [["a", "b"]]
    assert crashes.split([]) == [[]]
