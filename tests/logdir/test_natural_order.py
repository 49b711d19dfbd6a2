from __future__ import annotations

import random

from tracklight.logdir import natural_key


def in_order(*names: str) -> bool:
    shuffled = list(names)
    random.Random(0).shuffle(shuffled)
    return sorted(shuffled, key=natural_key) == list(names)


def test_sorts_numbers_by_value() -> None:
    assert in_order("run", "run1", "run2", "run10", "run10a", "run11", "runs")
    assert in_order("lr0.01/s1", "lr0.01/s9", "lr0.01/s12", "lr0.1/s1")


def test_understands_notation_of_learning_rates() -> None:
    assert in_order("lr1e-5", "lr3e-4", "lr1e-3", "lr0.15", "lr0.2", "lr1", "lr1e+2")


def test_run_and_runs_below_it_stay_together() -> None:
    assert in_order(".", "a", "a/eval", "a/train", "a-2", "a.b", "ab")


def test_case_is_compared_last() -> None:
    assert in_order("Alpha", "alpha", "Beta", "gamma")


def test_ignores_leading_zeros() -> None:
    assert in_order("run1", "run02", "run2", "run10")


def test_accepts_numbers_of_any_length() -> None:
    assert in_order("a20240115123456788", "a20240115123456789", "a" + "1" * 5000, "b1e99999")


def test_digits_sort_before_letters() -> None:
    assert in_order("a-b", "a1", "a20", "ab")
