from __future__ import annotations

import json
import math

import pytest

from tracklight.analysis.experiments import (
    add_studies,
    as_hparam_value,
    build_studies,
    find_number,
    find_step,
    find_time,
)
from tracklight.formats.hparams import Experiment


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3.0),
        pytest.param(-(10**600), f"-1{'0' * 498}", id="huge"),
        ("adam", "adam"),
        ("x" * 501, "x" * 500 + "…"),
        (["ä", 1], '["ä", 1]'),
    ],
)
def test_values_of_json_become_hyperparameters(value: object, expected: object) -> None:
    result = as_hparam_value(value)
    assert (result, type(result)) == (expected, type(expected))


def test_values_at_every_depth_that_json_can_have() -> None:
    """Writing JSON needs more of the stack than reading it."""
    for depth in range(800, 1000):
        try:
            value = json.loads("[" * depth + "]" * depth)
        except RecursionError:
            break
        assert as_hparam_value(value) in (None, "[" * 500 + "…")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *[(2, 2.0), (0.5, 0.5)],
        pytest.param(10**400, math.inf, id="huge"),
        pytest.param(-(10**400), -math.inf, id="huge negative"),
        *[(True, None), ("2", None), (None, None), ([1], None)],
    ],
)
def test_finds_numbers(value: object, expected: float | None) -> None:
    assert find_number(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *[(2, 2), ("2", 2), (2.5, 2), (-1, -1)],
        *[("x", None), (None, None), (math.nan, None), (math.inf, None), (1 << 53, None)],
    ],
)
def test_finds_steps(value: object, expected: int | None) -> None:
    assert find_step(value) == expected


@pytest.mark.parametrize("value", [None, 5, "", "yesterday", "0000-01-01", ["2026-01-01"]])
def test_finds_no_time_in_other_values(value: object) -> None:
    assert find_time(value) is None


def test_declaration_of_a_run_that_is_no_session_applies_to_all_studies() -> None:
    general, own = Experiment(name="general"), Experiment(name="own")
    assigned = {"x/a": "x", "x/b": "x", "y/a": "y", "y/b": "y"}
    studies = build_studies(assigned, {"y": own, "z": general})
    assert [(it.name, it.label, it.experiments) for it in studies] == [
        ("x", "x", (general,)),
        ("y", "own", (own,)),
    ]


def test_study_of_a_file_joins_that_of_its_directory() -> None:
    declared, stored = Experiment(name="declared"), Experiment(name="stored")
    studies = build_studies({"x/a": "x", "x/b": "x"}, {"x": declared})
    added = add_studies(studies, [("x", stored), ("y", Experiment())])
    assert [(it.name, it.label, it.experiments) for it in added] == [
        ("x", "declared", (declared, stored)),
        ("y", "y", (Experiment(),)),
    ]
