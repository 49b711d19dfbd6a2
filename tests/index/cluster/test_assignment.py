from __future__ import annotations

from collections import Counter

from tracklight.index.cluster import assign_runs

MIB = 1 << 20


def test_spreads_runs_by_size() -> None:
    sizes = {"a": 6 * MIB, "b": 5 * MIB, "c": 4 * MIB, "d": 3 * MIB}
    assigned = assign_runs(sizes, {}, 2)
    assert assigned["a"] == assigned["d"] != assigned["b"] == assigned["c"]


def test_spreads_empty_runs() -> None:
    assigned = assign_runs({f"run-{number}": 0 for number in range(40)}, {}, 4)
    assert set(Counter(assigned.values()).values()) == {10}


def test_keeps_runs_where_they_are() -> None:
    current = {"a": 1, "b": 1}
    assigned = assign_runs({"a": 9 * MIB, "b": 9 * MIB, "c": MIB}, current, 2)
    assert assigned == {"a": 1, "b": 1, "c": 0}


def test_forgets_removed_runs() -> None:
    assert assign_runs({"b": 1}, {"a": 0, "b": 1}, 2) == {"b": 1}


def test_moves_runs_from_a_shard_that_has_grown() -> None:
    sizes = {f"run-{number}": 500 * MIB for number in range(6)}
    assigned = assign_runs(sizes, dict.fromkeys(sizes, 0), 2)
    assert Counter(assigned.values()) == {0: 4, 1: 2} or Counter(assigned.values()) == {0: 3, 1: 3}


def test_does_not_move_a_single_large_run() -> None:
    current = {"large": 0, "small": 1}
    assert assign_runs({"large": 9000 * MIB, "small": MIB}, current, 2) == current
