"""Results of benchmarks: which rows count as slower, and how growth is fitted."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest

from benchmarks.compare import iter_regressions
from benchmarks.report import (
    RESULTS,
    RESULTS_JSON,
    Figure,
    Row,
    Timing,
    fit_growth,
    format_results,
    list_figures,
    merge_run,
)
from tools import write_readme_table


def make_result(*seconds: float, reached: bool | None = None) -> dict[str, Any]:
    row = Row("Cold load", Timing(seconds), reached=reached)
    return {"runs": [make_run("cold", row)]}


def make_run(measure: str, *rows: Row) -> dict[str, Any]:
    return {
        "machine": "2026-11-15, a laptop",
        "load_average": 0.5,
        "rows": [row.to_json(measure) for row in rows],
    }


@pytest.mark.parametrize(
    ("new", "is_slower"),
    [
        pytest.param((1.5, 1.6, 1.7), True, id="all repetitions are slower"),
        pytest.param((1.15, 1.6, 1.7), False, id="the repetitions overlap"),
        pytest.param((1.22, 1.22, 1.22), True, id="a tenth slower"),
        pytest.param((0.5, 0.6, 0.7), False, id="faster"),
    ],
)
def test_only_differences_beyond_noise_are_regressions(
    new: tuple[float, ...], is_slower: bool
) -> None:
    base = make_result(1.0, 1.1, 1.2)
    assert bool([*iter_regressions(base, make_result(*new))]) == is_slower


def test_small_slowdown_is_no_regression_even_without_noise() -> None:
    assert not [*iter_regressions(make_result(1.0), make_result(1.05))]


def test_requirement_that_is_no_longer_met_is_a_regression() -> None:
    base, new = make_result(1.0, reached=True), make_result(1.0, reached=False)
    assert [*iter_regressions(base, new)] == ["Cold load: 1 s, must be "]
    assert not [*iter_regressions(new, base)]


def test_new_rows_are_not_compared() -> None:
    assert not [*iter_regressions({"runs": []}, make_result(1.0, reached=False))]


def test_exponent_is_that_of_the_last_decade() -> None:
    sizes_s = {10: 1.0, 100: 1.0, 1000: 10.0}
    (growth,) = fit_growth(
        [Figure("runs", size, "read", s) for size, s in reversed(sizes_s.items())]
    )
    assert growth.sizes == (10, 100, 1000)
    assert growth.exponent == pytest.approx(1)
    assert "worse than linear" not in str(growth)


def test_growth_worse_than_linear_is_marked() -> None:
    (growth,) = fit_growth([Figure("runs", size, "read", size**2) for size in (10, 100)])
    assert growth.exponent == pytest.approx(2)
    assert "worse than linear" in str(growth)


def test_run_replaces_all_rows_of_its_measures() -> None:
    old = {
        "runs": [
            make_run("cold", Row("a", "1 s"), Row("b", "1 s")),
            make_run("tags", Row("c", "1 s")),
        ]
    }
    merged = merge_run(old, make_run("cold", Row("a", "2 s")))
    assert [[row["what"] for row in run["rows"]] for run in merged["runs"]] == [["c"], ["a"]]


def test_page_of_results_has_a_table_per_run() -> None:
    row = Row("search for a|b", "1 s", ratio=2.0, must="under 2 s", reached=True)
    text = format_results({"runs": [make_run("search", row)]})
    assert "2026-11-15, a laptop; load average 0.5" in text
    assert "| search for a\\|b | 1 s |  | 2x | under 2 s | reached |" in text


def test_run_keeps_the_figures_of_growth() -> None:
    growth = {"runs": {"machine": "a laptop", "load_average": 0.5, "figures": [[10, "read", 1.0]]}}
    merged = merge_run({"runs": [], "growth": growth}, make_run("cold", Row("a", "1 s")))
    assert list_figures(merged) == [Figure("runs", 10, "read", 1.0)]


def test_page_of_results_has_the_figures_of_growth() -> None:
    figures = [[10, "memory", 50.0], [100, "memory", 100.0]]
    growth = {"runs": {"machine": "a laptop", "load_average": 0.5, "figures": figures}}
    text = format_results({"runs": [], "growth": growth})
    assert "- runs: a laptop; load average 0.5" in text
    assert "| memory by runs | 50 MiB, 100 MiB | 0.30 |" in text


def test_page_and_plot_are_those_of_the_recorded_results() -> None:
    results = json.loads(RESULTS_JSON.read_text("utf-8"))
    assert RESULTS.read_text("utf-8") == format_results(results)
    plot = unescape((write_readme_table.ROOT / "docs" / "growth.svg").read_text("utf-8"))
    growths = fit_growth(list_figures(results))
    assert {growth.by for growth in growths} == {"points", "runs", "tags", "viewers"}
    for growth in growths:
        assert f"{growth.what}: {growth.exponent:.2f}" in plot


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("516 ms (best 400 ms of 5)", "0.52 s"),
        ("42.7 ms (best 36.7 ms of 5)", "43 ms"),
        ("28.4 s, 1,000 points a tag", "28 s"),
        ("0.563 µs of CPU, 0.603 µs passed", "0.56 µs"),
        ("146 MiB (PSS 132), 1,000 points a tag", "146 MiB"),
        ("has no cache", ""),
    ],
)
def test_readme_has_two_significant_digits(text: str, figure: str) -> None:
    assert write_readme_table.format_figure(text) == figure


def test_readmes_have_the_figures_of_the_results() -> None:
    for path, text in write_readme_table.write_pages():
        assert path.read_text("utf-8") == text, f"run {write_readme_table.COMMAND}"
        assert len(text.splitlines()) < 120
