"""What-If: views that show all models beside each other, and choices about data and sample."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.web.test_appearance import list_violations, overflows
from tests.web.test_what_if import TAB, editor, wait_for_plot
from tests.web.what_if_data import make_people, predict_flat, predict_steep, serve_workspaces
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.workspace import Workspace

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
FEATURES = ["age", "education", "hours", "job", "sex"]


def predict_hours(columns: Any) -> Any:
    return 1 / (1 + np.exp(-(columns["hours"] - 35) / 8))


MODELS = {"steep": predict_steep, "flat": predict_flat, "busy": predict_hours}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A data set with three models, which no test changes."""
    models = [wrap_model(predict, name) for name, predict in MODELS.items()]
    workspace = Workspace(to_table(make_people()), models, label="income", features=FEATURES)
    with serve_workspaces(tmp_path_factory.mktemp("people"), {"people": workspace}) as url:
        yield url + TAB


def test_all_models_are_compared(people: str, open_page: OpenPage) -> None:
    data = make_people()
    decided = {name: predict(data) >= 0.5 for name, predict in MODELS.items()}
    steep, flat, busy = decided.values()
    page = open_page(people + "&wi=compare&wi-model=steep&wi-slice=sex")
    differs = (steep != flat) | (steep != busy)
    expect(page.get_by_text(f"predict {differs.sum()} datapoints differently")).to_be_visible()
    for other in ("flat", "busy"):
        flips = page.get_by_role("region", name=f"Predictions of steep and {other}")
        count = int((steep & ~decided[other]).sum())
        expect(flips.get_by_role("button").nth(2)).to_contain_text(str(count))
        table = page.get_by_role("table", name=f"Metrics of {other} minus steep")
        expect(table.get_by_role("row").filter(has_text="sex: f")).to_be_visible()
    headers = page.get_by_role("table", name="Disagreements").get_by_role("columnheader")
    expect(headers.filter(has_text="Score of busy")).to_have_count(1)
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    assert list_violations(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert not overflows(page)
    page.get_by_label("Compare with").select_option("flat")
    both = int((steep != flat).sum())
    expect(page.get_by_text(f"predict {both} datapoints differently")).to_be_visible()
    expect(page.get_by_role("table", name="Metrics of busy minus steep")).to_have_count(0)


def test_attributions_of_all_models(people: str, open_page: OpenPage) -> None:
    page = open_page(people + "&wi=attributions&wi-model=steep&wi-row=3")
    page.get_by_role("button", name="Compute importance").click()
    importance = page.get_by_role("group", name="Permutation importance")
    for name in MODELS:
        expect(importance.get_by_text(re.compile(f"^hours .*{name}$"))).to_have_count(1)
    expect(page.get_by_text("Accuracy without shuffling")).to_have_count(3)
    page.get_by_role("button", name="Compute Shapley values").click()
    shapley = page.get_by_role("group", name="Shapley values of datapoint 3")
    expect(shapley).to_contain_text("busy")
    page.set_viewport_size({"width": 390, "height": 800})
    assert not overflows(page)
    page.get_by_label("Overlay all models").uncheck()
    expect(importance).to_have_count(0)
    page.get_by_role("button", name="Compute importance").click()
    expect(page.get_by_text("Accuracy without shuffling")).to_have_count(1)


def test_views_of_all_models_are_translated(people: str, open_page: OpenPage) -> None:
    page = open_page(people + "&wi=compare&wi-model=steep", locale="zh-CN")
    expect(page.get_by_role("region", name="steep 与 busy 的预测")).to_be_visible()


def test_the_number_of_averaged_datapoints_is_chosen(people: str, open_page: OpenPage) -> None:
    page = open_page(people + "&wi=dependence&wi-model=steep&wi-sample=50")
    field = page.get_by_label("Datapoints", exact=True)
    expect(field).to_have_value("50")
    with page.expect_request(re.compile("what_if/dependence$")) as request:
        field.fill("7")
        field.press("Enter")
    assert request.value.post_data_json["sample"] == 7
    expect(page).to_have_url(re.compile("wi-sample=7"))


def test_types_of_columns_are_corrected(tmp_path: Path, open_page: OpenPage) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "places.csv").write_text("zip,x\n01234,1\n00501,2\n99999,3\n")
    with serve_workspaces(logs, {}, data_dirs=(str(logs),)) as url:
        page = open_page(f"{url}{TAB}&wi-file=places.csv&wi-row=1")
        expect(editor(page).get_by_label("zip", exact=True)).to_have_value("501")
        page.get_by_role("button", name="Data set menu").click()
        page.get_by_role("menuitem", name="Classes, inputs and types").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("combobox", name="zip").select_option("Text")
        dialog.get_by_role("button", name="Apply").click()
        expect(editor(page).get_by_label("zip", exact=True)).to_have_value("00501")
        sessions = page.request.get(f"{url}api/v1/what_if/sessions").json()["sessions"]
        assert [session["columns"][0]["type"] for session in sessions] == ["string"]
        page.request.post(
            f"{url}api/v1/what_if/close", data=json.dumps({"session": sessions[0]["session"]})
        )
        page.reload()
        wait_for_plot(page)
        expect(editor(page).get_by_label("zip", exact=True)).to_have_value("00501")
