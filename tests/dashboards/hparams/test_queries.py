"""Queries of trials: filters, order, pages, samples and facets, compared with the whole table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.experiments.helpers import open_board
from tests.index import logs
from tracklight.dashboards.hparams import HParams
from tracklight.dashboards.hparams.schemas import (
    AxisScale,
    ExportRequest,
    FacetRequest,
    FacetsRequest,
    ImportanceRequest,
    SessionsRequest,
    TrialFilter,
    TrialQuery,
    TrialsRequest,
)
from tracklight.errors import UsageError

TRIALS = 60
SCALES: list[AxisScale] = ["linear", "log", "quantile"]
_random = np.random.default_rng(0)
#: Numbers, texts, mixed values, and values that some trials do not have.
CONFIGS: list[dict[str, Any]] = [
    {
        "lr": float(10 ** _random.uniform(-5, -1)),
        "optimizer": str(_random.choice(["adam", "sgd", "lion"])),
        "units": "auto" if number % 7 == 0 else float(_random.choice([16, 32, 64])),
        "id": f"id {number}",
        **({"momentum": float(_random.choice([0.0, 0.5, 0.9]))} if number % 3 else {}),
    }
    for number in range(TRIALS)
]
LOSSES: list[float | None] = [
    float(_random.normal()) if number % 5 else None for number in range(TRIALS)
]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("log")
    for number, (config, loss) in enumerate(zip(CONFIGS, LOSSES, strict=True)):
        points = b"" if loss is None else logs.point(1, loss, tag="loss")
        logs.write(folder, f"trial-{number}", logs.hparams(config) + points)
    return folder


@pytest.fixture(scope="module")
def board(logdir: Path) -> HParams:
    return open_board(logdir)[1]


def list_page(board: HParams, **query: Any) -> list[int]:
    """Return the numbers of the trials on a page."""
    response = board.trials(TrialsRequest(**query))
    names = dict(zip(response.table.rows.indices.tolist(), response.table.rows.names, strict=True))
    return [int(names[row].removeprefix("trial-")) for row in response.page.tolist()]


def list_expected(matches: Callable[[dict[str, Any], float | None], bool]) -> set[int]:
    pairs = enumerate(zip(CONFIGS, LOSSES, strict=True))
    return {number for number, (config, loss) in pairs if matches(config, loss)}


@pytest.mark.parametrize(
    ("condition", "matches"),
    [
        (
            TrialFilter("hparam:lr", range=(1e-4, 1e-2)),
            lambda config, _: 1e-4 <= config["lr"] <= 1e-2,
        ),
        (
            TrialFilter("hparam:optimizer", values=["adam", "sgd", "none"]),
            lambda config, _: config["optimizer"] != "lion",
        ),
        (TrialFilter("hparam:id", pattern="ID 1.$"), lambda config, _: len(config["id"]) == 5
            and config["id"][3] == "1"),
        (TrialFilter("hparam:units", values=["16"]), lambda config, _: config["units"] == 16),
        (
            TrialFilter("hparam:units", values=["16"], blank=True),
            lambda config, _: config["units"] in (16, "auto"),
        ),
        (TrialFilter("hparam:units", pattern="^6"), lambda config, _: config["units"] == 64),
        (
            TrialFilter("hparam:momentum", range=(0.1, 1)),
            lambda config, _: config.get("momentum", 0) >= 0.1,
        ),
        (
            TrialFilter("hparam:momentum", range=(0.1, 1), blank=True),
            lambda config, _: config.get("momentum", 1) >= 0.1,
        ),
        (
            TrialFilter("metric:|loss", range=(0, 9)),
            lambda _, loss: loss is not None and loss >= 0,
        ),
        (TrialFilter("name", pattern="trial-1$"), lambda config, _: config["id"] == "id 1"),
        (TrialFilter("status", values=["failure"]), lambda *_: False),
        (TrialFilter("hparam:unknown", range=(0, 1)), lambda *_: True),
    ],
)  # fmt: skip
def test_filters(
    board: HParams,
    condition: TrialFilter,
    matches: Callable[[dict[str, Any], float | None], bool],
) -> None:
    expected = list_expected(matches)
    assert set(list_page(board, filters=[condition])) == expected
    assert board.trials(TrialsRequest(filters=[condition])).matched == len(expected)


def test_invalid_pattern_is_reported(board: HParams) -> None:
    with pytest.raises(UsageError):
        board.trials(TrialsRequest(filters=[TrialFilter("name", pattern="(")]))


def test_pages_are_sorted_with_missing_values_last(board: HParams) -> None:
    def rank(number: int) -> tuple[bool, float]:
        loss = LOSSES[number]
        return loss is None, 0 if loss is None else -loss

    expected = sorted(range(TRIALS), key=rank)
    pages = [
        list_page(board, sort=["-metric:|loss"], offset=offset, limit=25) for offset in (0, 25, 50)
    ]
    assert [number for page in pages for number in page] == expected
    by_two = list_page(board, sort=["hparam:optimizer", "hparam:lr"])
    assert by_two == sorted(
        range(TRIALS), key=lambda number: (CONFIGS[number]["optimizer"], CONFIGS[number]["lr"])
    )
    assert list_page(board, sort=["-name"], limit=2) == [59, 58]


def test_the_best_trials_come_first(board: HParams) -> None:
    """The goal of a loss is its minimum."""
    losses = [np.inf if loss is None else loss for loss in LOSSES]
    best = int(np.argmin(losses))
    response = board.trials(TrialsRequest(limit=1))
    assert (list_page(board, limit=1), response.best) == ([best], response.page[0])
    assert board.trials(TrialsRequest(limit=0)).best == response.best
    assert list_page(board, limit=1, goal="max") == [int(np.nanargmax(np.array(LOSSES, float)))]


def test_rows_have_the_cells_of_the_whole_table(board: HParams) -> None:
    whole = board.sessions(SessionsRequest())
    response = board.trials(TrialsRequest(offset=10, limit=5, sample=7, others=5))
    table = response.table
    rows = table.rows.indices
    assert len(rows) < TRIALS
    assert table.rows.names == [whole.rows.names[row] for row in rows.tolist()]
    for cells, expected in zip(table.hparams, whole.hparams, strict=True):
        assert cells.key == expected.key
        assert (cells.min, cells.max) == (expected.min, expected.max)
        for at, row in enumerate(rows.tolist()):
            state = 0 if cells.states is None else cells.states[at]
            assert state == (0 if expected.states is None else expected.states[row])
            if state == 2:
                text = expected.categories[int(expected.values[row])]
                assert cells.categories[int(cells.values[at])] == text
            else:
                np.testing.assert_equal(cells.values[at], expected.values[row])
    assert len(next(it for it in table.hparams if it.name == "id").categories) == len(rows)
    np.testing.assert_array_equal(table.metrics[0].values, whole.metrics[0].values[rows])
    groups = [table.rows.group_names[group] for group in table.rows.groups.tolist()]
    assert groups == [whole.rows.group_names[whole.rows.groups[row]] for row in rows.tolist()]


def test_sample_is_of_matching_rows_and_stable(board: HParams) -> None:
    filters = [TrialFilter("hparam:optimizer", values=["adam"])]
    adam = list_expected(lambda config, _: config["optimizer"] == "adam")
    response = board.trials(TrialsRequest(filters=filters, limit=0, sample=5, others=6))
    assert (len(response.sample), len(response.others)) == (5, 6)
    assert set(response.sample.tolist()) <= adam
    assert not set(response.others.tolist()) & adam
    larger = board.trials(TrialsRequest(filters=filters, limit=0, sample=8))
    assert set(response.sample.tolist()) <= set(larger.sample.tolist())
    everything = board.trials(TrialsRequest(limit=0, sample=1000, others=1000))
    assert everything.sample.tolist() == list(range(TRIALS))
    assert not len(everything.others)


def test_facets_count_all_and_matching_rows(board: HParams) -> None:
    filters = [TrialFilter("hparam:optimizer", values=["adam"])]
    keys = [
        FacetRequest("hparam:lr", "log"),
        FacetRequest("metric:|loss"),
        FacetRequest("hparam:optimizer"),
        FacetRequest("hparam:lr", "quantile"),
        FacetRequest("hparam:unknown"),
    ]
    response = board.facets(FacetsRequest(columns=keys, filters=filters, bins=8))
    lr, loss, optimizer, ranks = response.facets
    rates = np.array([config["lr"] for config in CONFIGS])
    is_adam = np.array([config["optimizer"] == "adam" for config in CONFIGS])
    assert (response.total, response.matched) == (TRIALS, is_adam.sum())
    assert (lr.low, lr.high) == (rates.min(), rates.max())
    np.testing.assert_array_equal(lr.counts, np.histogram(np.log(rates), 8)[0])
    edges = np.histogram_bin_edges(np.log(rates), 8)
    np.testing.assert_array_equal(lr.matching, np.histogram(np.log(rates[is_adam]), edges)[0])
    finite = [loss for loss in LOSSES if loss is not None]
    np.testing.assert_array_equal(loss.counts, np.histogram(finite, 8)[0])
    assert loss.blank == TRIALS - len(finite)
    assert optimizer.categories == ["adam", "lion", "sgd"]
    assert optimizer.matching.tolist() == [is_adam.sum(), 0, 0]
    assert ranks.counts.max() - ranks.counts.min() <= 1


def test_export_and_importance_of_a_query(board: HParams) -> None:
    query = TrialQuery(filters=[TrialFilter("hparam:optimizer", values=["adam"])], sort=["-name"])
    adam = list_expected(lambda config, _: config["optimizer"] == "adam")
    content = board.export(ExportRequest(format="csv", query=query)).content.decode()
    names = [row["name"] for row in csv.DictReader(io.StringIO(content))]
    assert names == [f"trial-{number}" for number in sorted(adam, reverse=True)]
    importance = board.importance(ImportanceRequest(metric="|loss", query=query))
    assert importance.trust.sessions == sum(LOSSES[number] is not None for number in adam)


def test_new_trials_are_found(tmp_path: Path) -> None:
    logs.write(tmp_path, "a", logs.hparams({"lr": 1.0}))
    catalog, board = open_board(tmp_path)
    assert board.trials(TrialsRequest()).total == 1
    logs.write(tmp_path, "b", logs.hparams({"lr": 2.0}))
    catalog.refresh()
    assert board.trials(TrialsRequest()).total == 2


@pytest.fixture(scope="module")
def mixed_board(tmp_path_factory: pytest.TempPathFactory) -> HParams:
    """Two studies with values of several types, and trials that took 30, 20, 10 and 0 seconds."""
    folder = tmp_path_factory.mktemp("mixed")
    configs: list[dict[str, Any]] = [
        {"flip": True, "size": "small", "mixed": 1.5},
        {"flip": False, "size": 10.0, "mixed": True},
        {"mixed": "auto", "size": "large"},
    ]
    for number, config in enumerate(configs):
        last = logs.point(10, 10 * (number + 1), wall=1.7e9 + 10 * (3 - number))
        name = f"{'late' if number == 2 else 'early'}/{number}"
        logs.write(folder, name, logs.hparams(config) + last)
    logs.write(folder, "late/3", logs.hparams({"mixed": 2.0}))
    return open_board(folder)[1]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (TrialFilter("hparam:flip", values=["true"]), {0}),
        (TrialFilter("hparam:flip", values=["false"], blank=True), {1, 2, 3}),
        (TrialFilter("hparam:size", values=["10", "large"]), {1, 2}),
        (TrialFilter("hparam:mixed", values=["true", "auto"], blank=True), {1, 2}),
        (TrialFilter("hparam:mixed", values=["1.5", "auto"]), {0, 2}),
        (TrialFilter("study", values=["early"]), {0, 1}),
        (TrialFilter("unknown", values=["early"]), {0, 1, 2, 3}),
        (TrialFilter("metric:|loss", values=["20", "high"]), {1}),
        (TrialFilter("metric:|none", values=["20"]), {0, 1, 2, 3}),
        (TrialFilter("duration", range=(15, 25)), {1}),
        (TrialFilter("start", range=(1.7e9 - 1, 1.7e9 + 1)), {0, 1, 2, 3}),
        (TrialFilter("start", range=(0, 1)), set()),
    ],
)
def test_filters_of_columns_of_other_types(
    mixed_board: HParams, condition: TrialFilter, expected: set[int]
) -> None:
    names = mixed_board.sessions(SessionsRequest()).rows.names
    page = mixed_board.trials(TrialsRequest(filters=[condition])).page
    assert {int(names[row].rpartition("/")[2]) for row in page} == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [("duration", [3, 2, 1, 0]), ("-duration", [0, 1, 2, 3]), ("-unknown", [0, 1, 2, 3])],
)
def test_trials_are_sorted_by_time(mixed_board: HParams, key: str, expected: list[int]) -> None:
    names = mixed_board.sessions(SessionsRequest()).rows.names
    page = mixed_board.trials(TrialsRequest(sort=[key])).page
    assert [int(names[row].rpartition("/")[2]) for row in page] == expected


def test_facet_has_the_most_frequent_of_many_values(tmp_path: Path) -> None:
    for number in range(303):
        config = {"id": f"id {min(number, 301)}"}
        logs.write(tmp_path, f"trial-{number}", logs.hparams(config))
    board = open_board(tmp_path)[1]
    columns = [FacetRequest("hparam:id"), FacetRequest("metric:|loss")]
    (facet,) = board.facets(FacetsRequest(columns=columns)).facets
    assert len(facet.categories) < 302
    assert facet.categories[0] == "id 0"
    assert facet.counts[facet.categories.index("id 301")] == 2


def test_facet_of_a_column_without_numbers_is_empty(tmp_path: Path) -> None:
    logs.write(tmp_path, "a", logs.hparams({"lr": math.nan}))
    board = open_board(tmp_path)[1]
    for scale in SCALES:
        columns = [FacetRequest("hparam:lr", scale)]
        (facet,) = board.facets(FacetsRequest(columns=columns, bins=4)).facets
        assert facet.counts.tolist() == [0, 0, 0, 0]
