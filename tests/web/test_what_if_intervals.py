"""What-If: intervals of costs, gaps, attributions and differences; searches that take long."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.test_what_if import TAB, editor, score_cell, wait_for_plot
from tests.web.waiting import get_stable_box, wait_for_condition, wait_for_value
from tests.web.what_if_data import make_people, predict_flat, predict_steep, serve_workspaces
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.distances import DistanceSpace
from tracklight.analysis.what_if.workspace import Workspace

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
FEATURES = ["age", "education", "hours", "job", "sex"]


def explain(columns: Any) -> Any:
    return {
        "predictions": predict_steep(columns),
        "attributions": {"age": columns["age"] - 45.0, "education": columns["education"] - 11.0},
    }


def make_explained_workspace() -> Workspace:
    """Return people of whom a few have a job of their own, with attributions of one model."""
    people = make_people()
    people["job"][:3] = "pilot"
    models = [wrap_model(explain, "steep"), wrap_model(predict_flat, "flat")]
    return Workspace(to_table(people), models, label="income", features=FEATURES)


@pytest.fixture
def explained(tmp_path: Path) -> Iterator[str]:
    with serve_workspaces(tmp_path / "logs", {"people": make_explained_workspace()}) as url:
        yield url + TAB


class SlowSearch:
    """Compares datapoints only when it may end, and until then reports progress."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        #: The datapoints that others were compared with.
        self.rows: list[int] = []
        self._compute = DistanceSpace.compute

    def compute(
        self, space: DistanceSpace, row: int, *args: Any, report: Any, **options: Any
    ) -> Any:
        self.rows.append(row)
        done = 0
        while not self.may_end.wait(0.1):
            report(done % 200, 200)
            done += 1
        return self._compute(space, row, *args, report=report, **options)


@pytest.fixture
def slow_search(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowSearch]:
    search = SlowSearch()
    monkeypatch.setattr(
        DistanceSpace, "compute", lambda self, *args, **kw: search.compute(self, *args, **kw)
    )
    yield search
    search.may_end.set()


INTERVAL = re.compile(r"([+\u2212]?[\d.]+) \(([+\u2212]?[\d.]+), ([+\u2212]?[\d.]+)\)")


def read_interval(place: Locator) -> tuple[float, float, float]:
    """Return the value and the bounds of ``0.5 (0.4, 0.6)``."""
    expect(place).to_contain_text(INTERVAL)
    found = INTERVAL.search(place.inner_text())
    assert found
    value, low, high = (float(each.replace("\u2212", "-")) for each in found.groups())
    return value, low, high


def test_costs_gaps_and_attributions_have_intervals(explained: str, open_page: OpenPage) -> None:
    data = make_people()
    page = open_page(explained + "&wi=performance&wi-slice=sex&wi-model=steep")
    positive = predict_steep(data) >= 0.5
    errors = int((positive != data["income"]).sum())
    cost, low, high = read_interval(page.get_by_text(re.compile(r"^Cost \d")).first)
    assert cost == errors
    assert (high - low) / 2 == pytest.approx(1.97 * np.sqrt(errors), rel=0.2)
    gaps = page.get_by_role("table", name="Gaps between slices")
    rates = [positive[data["sex"] == sex].mean() for sex in "fm"]
    gap, low, high = read_interval(gaps.get_by_role("row", name=re.compile("^Positive rate")))
    assert gap == pytest.approx(abs(rates[1] - rates[0]), abs=1e-3)
    assert low < gap < high
    attributions = page.get_by_role("table", name="Mean attributions")
    rows = attributions.get_by_role("row").filter(has_text="All datapoints")
    overall = rows.filter(has_text="steep")  # The column of models is there with the second one.
    mean, low, high = read_interval(overall.get_by_role("cell").nth(2))
    age = data["age"] - 45.0
    assert mean == pytest.approx(age.mean(), abs=0.01)
    assert (high - low) / 2 == pytest.approx(1.97 * age.std() / np.sqrt(len(age)), rel=0.6)


def test_small_slices_have_intervals_or_say_why_not(explained: str, open_page: OpenPage) -> None:
    page = open_page(explained + "&wi=performance&wi-slice=job&wi-model=steep")
    pilots = page.locator("[data-slice='job:pilot']")
    expect(pilots.locator("small").nth(2)).to_have_text(re.compile(r"^\d+\.\d\u2013\d+\.\d$"))
    metrics = page.get_by_role("table", name="Metrics with 95% intervals")
    row = metrics.get_by_role("row").filter(has_text="pilot").filter(has_text="steep")

    def has_intervals() -> bool:
        texts = row.get_by_role("cell").all_inner_texts()[2:]
        return bool(texts) and all(text == "\u2014" or "(" in text for text in texts)

    wait_for_condition(page, has_intervals)
    lacking = row.get_by_role("cell").filter(has_text=re.compile("no interval|\u2014")).first
    expect(lacking).to_have_attribute("title", re.compile("^(No interval|Undefined): "))


def test_differences_of_models_have_intervals(explained: str, open_page: OpenPage) -> None:
    data = make_people()
    page = open_page(explained + "&wi=compare&wi-slice=sex&wi-model=steep")
    table = page.get_by_role("table", name=re.compile("flat.*steep|steep.*flat"))
    row = table.get_by_role("row").filter(has_text="All datapoints")
    expect(row).to_contain_text("(")
    headers = table.get_by_role("columnheader").all_inner_texts()
    at = next(n for n, text in enumerate(headers) if text.strip() == "Accuracy")
    # The first column is a header.
    found, low, high = read_interval(row.get_by_role("cell").nth(at - 1))
    right = [(predict(data) >= 0.5) == data["income"] for predict in (predict_steep, predict_flat)]
    change = right[1].astype(float) - right[0]
    assert found == pytest.approx(change.mean(), abs=1e-3)
    expected = 1.96 * change.std() / np.sqrt(len(change))
    assert (high - low) / 2 == pytest.approx(expected, rel=0.6)


def test_long_searches_show_progress_and_are_cancelled(
    explained: str, open_page: OpenPage, slow_search: SlowSearch
) -> None:
    page = open_page(explained + "&wi-row=3&wi-model=steep")
    wait_for_plot(page)
    editor(page).get_by_label("Show nearest counterfactual").check()
    progress = editor(page).get_by_role("progressbar", name="Comparing datapoints")
    expect(progress).to_be_visible()
    editor(page).get_by_role("button", name="Cancel").click()
    expect(editor(page)).to_contain_text("The search was cancelled.")
    editor(page).get_by_role("button", name="Search again").click()
    expect(progress).to_be_visible()
    slow_search.may_end.set()
    found = editor(page).get_by_role("list", name="Counterfactuals").get_by_role("button").first
    row = int(found.inner_text().removeprefix("Datapoint "))
    scores = predict_steep(make_people())
    assert (scores[row] >= 0.5) != (scores[3] >= 0.5)
    assert slow_search.rows == [3, 3]
    expect(progress).to_have_count(0)
    # Its predictions are beside those of the datapoint.
    wait_for_value(
        page,
        lambda: float(score_cell(page, "steep", 4).inner_text()),
        pytest.approx(scores[row], abs=1e-3),
    )
    # Another datapoint ends the search of this one.
    slow_search.may_end.clear()
    editor(page).get_by_role("button", name="Next").click()
    expect(progress).to_be_visible()
    editor(page).get_by_role("button", name="Previous").click()
    expect(editor(page).get_by_role("list", name="Counterfactuals")).to_contain_text(
        f"Datapoint {row}"
    )


def test_long_distances_show_progress_and_are_cancelled(
    explained: str, open_page: OpenPage, slow_search: SlowSearch
) -> None:
    page = open_page(explained + "&wi-row=3")
    wait_for_plot(page)
    editor(page).get_by_role("button", name="Color by distance").click()
    progress = page.get_by_role("progressbar", name="Comparing datapoints")
    expect(progress).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(progress).to_have_count(0)
    wait_for_plot(page)
    editor(page).get_by_role("button", name="Next").click()
    editor(page).get_by_role("button", name="Color by distance").click()
    expect(progress).to_be_visible()
    slow_search.may_end.set()
    expect(progress).to_have_count(0)
    wait_for_plot(page)
    assert slow_search.rows == [3, 4]


def test_the_editor_does_not_cover_the_plot_on_a_phone(explained: str, open_page: OpenPage) -> None:
    page = open_page(explained + "&wi-row=3&wi-distances= distance:3:l1, distance:7:l2")
    wait_for_plot(page)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.get_by_role("group", name="Distance settings")).to_have_count(2)

    def has_space() -> bool:
        plot = get_stable_box(page.get_by_role("application"))
        return plot.height >= 160 and plot.y + plot.height <= get_stable_box(editor(page)).y + 1

    wait_for_condition(page, has_space)
