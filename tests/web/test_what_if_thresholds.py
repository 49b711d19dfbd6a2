"""What-If: thresholds of slices, which decide predicted classes in all views."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.web.test_what_if import TAB, export_svg, wait_for_plot
from tests.web.what_if_data import make_people, make_workspace, predict_flat, predict_steep
from tests.web.what_if_data import serve_workspaces as serve

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
LIMITS = {"steep": {"": 0.6, "sex:f": 0.2}, "flat": {"sex:m": 0.8}}
BY_SEX = f"&wi-slice=sex&wi-thresholds={quote(json.dumps(LIMITS))}"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A data set that no test changes."""
    folder = tmp_path_factory.mktemp("people")
    with serve(folder, {"people": make_workspace()}) as url:
        yield url + TAB


def decide() -> tuple[np.ndarray, np.ndarray]:
    """Return which people the two models predict as positive."""
    data = make_people()
    is_female = data["sex"] == "f"
    steep = predict_steep(data) >= np.where(is_female, 0.2, 0.6)
    flat = predict_flat(data) >= np.where(is_female, 0.5, 0.8)
    return steep, flat


def test_thresholds_of_slices_decide_predicted_classes(people: str, open_page: OpenPage) -> None:
    page = open_page(people + BY_SEX)
    wait_for_plot(page)
    steep, flat = decide()
    legend = page.get_by_role("group", name="Legend")
    expect(legend).to_contain_text(f"1 {int(steep.sum())}")
    page.get_by_role("button", name="Data set menu").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export rows as CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text("utf-8"))))
    assert [row["predicted (steep)"] == "1" for row in rows] == steep.tolist()
    assert [row["predicted (flat)"] == "1" for row in rows] == flat.tolist()
    note = page.get_by_role("note").filter(has_text="follow the thresholds of slices by sex")
    note.get_by_role("button", name="Use one threshold per model").click()
    expect(note).to_have_count(0)
    expect(legend).to_contain_text(f"1 {int((predict_steep(make_people()) >= 0.6).sum())}")


def test_flips_follow_the_thresholds_of_slices(people: str, open_page: OpenPage) -> None:
    page = open_page(people + "&wi=compare" + BY_SEX)
    steep, flat = decide()
    flips = page.get_by_role("region", name="Predictions of both models")
    expect(flips.get_by_role("button").nth(2)).to_contain_text(str(int((steep & ~flat).sum())))
    count = int((steep != flat).sum())
    expect(page.get_by_text(f"predict {count} datapoints differently, of 400.")).to_be_visible()


def test_counterfactuals_follow_the_thresholds_of_slices(
    tmp_path: Path, open_page: OpenPage
) -> None:
    data = make_people()
    scores = predict_steep(data)
    steep, _ = decide()
    # Positive only because of the threshold of its slice.
    row = int(np.flatnonzero((data["sex"] == "f") & (scores > 0.25) & (scores < 0.45))[0])
    with serve(tmp_path / "logs", {"people": make_workspace()}) as url:
        page = open_page(f"{url}{TAB}&wi-cf=1&wi-cf-count=5&wi-row={row}&wi-model=steep" + BY_SEX)
        wait_for_plot(page)
        found = page.get_by_role("list", name="Counterfactuals")
        expect(found.get_by_role("listitem")).to_have_count(5)
        for text in found.get_by_role("button").all_inner_texts():
            assert not steep[int(text.split()[-1])]


def test_thresholds_are_typed(people: str, open_page: OpenPage) -> None:
    page = open_page(people + "&wi=performance&wi-slice=sex&wi-model=steep")
    row = page.locator("[data-slice='sex:f']")
    row.get_by_role("button", name="0.50").click()
    field = row.get_by_role("textbox", name="Type the threshold of sex: f")
    expect(field).to_be_focused()
    page.keyboard.type("0.734")
    page.keyboard.press("Enter")
    expect(row.get_by_role("slider")).to_have_value("0.73")
    expect(row.get_by_role("button", name="0.73")).to_be_visible()
    data = make_people()
    women = data["sex"] == "f"
    accuracy = ((predict_steep(data) >= 0.73) == data["income"])[women].mean()
    expect(row).to_contain_text(f"{100 * accuracy:.1f}%")


def test_all_models_are_beside_each_other(people: str, open_page: OpenPage) -> None:
    page = open_page(people + "&wi=performance&wi-model=steep" + BY_SEX)
    data = make_people()
    labels, women = data["income"] == 1, data["sex"] == "f"
    metrics = page.get_by_role("table", name="Metrics with 95% intervals")
    rows = metrics.get_by_role("row").filter(has_text="sex: f")
    expect(rows).to_have_count(2)
    for model, predicted in zip(("steep", "flat"), decide(), strict=True):
        accuracy = (predicted == labels)[women].mean()
        expect(rows.filter(has_text=model)).to_contain_text(f"{accuracy:.3g}")
        false_positives = int((predicted & ~labels & women).sum())
        page.get_by_role("button", name="sex: f", exact=True).first.click()
        matrix = page.get_by_role("region", name=f"Confusion matrix of sex: f, {model}")
        expect(matrix.get_by_role("button").nth(1)).to_contain_text(str(false_positives))
    page.get_by_role("button", name="Show curves of all slices").click()
    expect(page.get_by_role("article", name="ROC curve")).to_have_count(3)
    matrices = page.get_by_role("region", name=re.compile("^Confusion matrix of"))
    expect(matrices).to_have_count(6)
    page.get_by_role("region", name="Confusion matrix of sex: m, flat").get_by_role("button").nth(
        3
    ).click()
    both = int((decide()[1] & labels & ~women).sum())
    expect(page.get_by_text(f"{both} of 400 shown")).to_be_visible()


def read_threshold_lines(page: Page, feature: str) -> dict[str, float]:
    """Return the thresholds that are drawn over the dependence on a feature, by their labels."""
    svg = export_svg(page, f"Dependence on {feature}")
    ticks = re.findall(r'translate\(48 ([\d.]+)\)"[^>]*>([\d.]+)</text>', svg)
    bottom, top = (next(float(y) for y, text in ticks if text == end) for end in ("0", "1.0"))
    heights = re.findall(r'<path d="M[\d.]+ ([\d.]+)L[^"]*"[^>]*dasharray="3 3"', svg)
    labels = re.findall(r'translate\(851 [\d.]+\)"[^>]*text-anchor="end">([^<]+)</text>', svg)
    thresholds = [round((bottom - float(y)) / (bottom - top), 2) for y in heights]
    if len(thresholds) == 1:
        return {"": thresholds[0]}
    return dict(zip(labels, thresholds, strict=True))


def read_threshold_marks(page: Page, feature: str) -> dict[str, list[str]]:
    """Return the names of the marks on the two bars of the dependence on a feature."""
    rows = page.get_by_role("group", name=f"Dependence on {feature}").get_by_role("listitem")
    expect(rows).to_have_count(2)
    return {
        row.locator(".name").inner_text(): [
            mark.get_attribute("title") or "" for mark in row.get_by_title("Threshold").all()
        ]
        for row in rows.all()
    }


def test_dependence_shows_the_thresholds_of_slices(people: str, open_page: OpenPage) -> None:
    page = open_page(people + "&wi=dependence&wi-model=steep" + BY_SEX)
    expect(page.locator("[data-ready]")).to_have_attribute("aria-busy", "false")
    assert read_threshold_lines(page, "age") == {
        "sex: f \u00b7 steep": 0.2,
        "Other datapoints \u00b7 steep": 0.6,
        "sex: m \u00b7 flat": 0.8,
        "Other datapoints \u00b7 flat": 0.5,
    }
    page.get_by_label("Overlay all models").uncheck()
    expect(page.get_by_role("list", name="Legend")).to_have_count(0)
    assert read_threshold_lines(page, "age") == {"sex: f": 0.2, "Other datapoints": 0.6}
    assert read_threshold_marks(page, "sex") == {
        name: ["Threshold of sex: f: 0.2", "Threshold of Other datapoints: 0.6"] for name in "fm"
    }
    page.get_by_role("button", name="Use one threshold per model").click()
    expect(page.get_by_role("note")).to_have_count(0)
    assert read_threshold_lines(page, "age") == {"": 0.6}
    assert read_threshold_marks(page, "sex") == {name: ["Threshold: 0.6"] for name in "fm"}


def test_dependence_of_a_datapoint_has_the_threshold_of_its_slice(
    people: str, open_page: OpenPage
) -> None:
    sex = make_people()["sex"]
    for name, expected in (("f", {"steep": 0.2, "flat": 0.5}), ("m", {"steep": 0.6, "flat": 0.8})):
        row = int(np.flatnonzero(sex == name)[0])
        view = f"&wi=dependence&wi-local=1&wi-row={row}&wi-model=steep"
        page = open_page(people + view + BY_SEX)
        expect(page.locator("[data-ready]")).to_have_attribute("aria-busy", "false")
        assert read_threshold_lines(page, "age") == expected
        page.get_by_label("Overlay all models").uncheck()
        expect(page.get_by_role("list", name="Legend")).to_have_count(0)
        marks = read_threshold_marks(page, "sex")
        current = f"{name} (current)"
        assert marks.pop(current, None) == [f"Threshold: {expected['steep']}"], marks
        assert marks == {"m" if name == "f" else "f": [f"Threshold: {0.6 if name == 'f' else 0.2}"]}
