"""What-If dashboard: plot, editor, counterfactuals, performance, dependence, comparison."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect
from sklearn.metrics import roc_auc_score

from tests.web.test_appearance import list_violations, overflows
from tests.web.waiting import (
    get_stable_box,
    get_stable_text,
    get_stable_url,
    wait_for_condition,
    wait_for_value,
)
from tests.web.what_if_data import (
    ROWS,
    make_class_workspace,
    make_film_workspace,
    make_image_workspace,
    make_people,
    make_sequence_workspace,
    make_vector_workspace,
    make_workspace,
    predict_flat,
    predict_steep,
    serve_workspaces,
)
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.cli import main
from tracklight.formats.media import encode_png

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
TAB = "?tab=what_if"
VIEWS = ("datapoints", "performance", "dependence", "features", "compare", "attributions")


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A data set that no test changes."""
    folder = tmp_path_factory.mktemp("people")
    with serve_workspaces(folder, {"people": make_workspace()}) as url:
        yield url + TAB


@pytest.fixture
def editable(tmp_path: Path) -> Iterator[str]:
    with serve_workspaces(tmp_path / "logs", {"people": make_workspace()}) as url:
        yield url + TAB


def wait_for_plot(page: Page) -> Locator:
    plot = page.get_by_role("application")
    expect(plot).to_have_attribute("aria-busy", "false")
    return plot


def export_svg(page: Page, title: str) -> str:
    page.get_by_role("button", name=f"Menu of {title}").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export SVG").click()
    svg = download.value.path().read_text("utf-8")
    assert svg.startswith("<svg")
    return svg


def export_png(page: Page, title: str) -> Any:
    """Save a chart as PNG and return its pixels."""
    page.get_by_role("button", name=f"Menu of {title}").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export PNG").click()
    return np.asarray(Image.open(download.value.path()).convert("RGB"))


def editor(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Datapoint editor")


def score_cell(page: Page, model: str, column: int) -> Locator:
    """The score of class 1: before (1), now (2) or the change (3)."""
    table = page.get_by_role("table", name=f"Predictions of {model}")
    row = table.get_by_role("row").filter(has=page.get_by_role("rowheader", name="1", exact=True))
    return row.locator("th, td").nth(column)


def choose(page: Page, button: str, option: str) -> None:
    page.get_by_role("button", name=re.compile(f"^{button}")).first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("combobox").fill(option)
    dialog.get_by_role("option", name=option, exact=True).first.click()


def test_plot_shows_the_scores_of_both_models(people: str, open_page: OpenPage) -> None:
    page = open_page(people)
    plot = wait_for_plot(page)
    expect(plot).to_have_attribute("data-points", str(ROWS))
    expect(plot).to_have_accessible_name(f"{ROWS} datapoints, X: score (steep), Y: score (flat)")
    positive = int((predict_steep(make_people()) >= 0.5).sum())
    expect(page.get_by_role("group", name="Legend")).to_contain_text(f"1 {positive}")
    choose(page, "X axis", "job")
    choose(page, "Facet columns", "sex")
    expect(page).to_have_url(re.compile("wi-x=job.*wi-facet-x=sex"))
    expect(wait_for_plot(page)).to_have_accessible_name(re.compile("X: job"))
    page.go_back()
    expect(page).not_to_have_url(re.compile("wi-facet-x=sex"))


def test_click_selects_and_lasso_selects_many(people: str, open_page: OpenPage) -> None:
    page = open_page(people)
    plot = wait_for_plot(page)
    expect(editor(page)).to_contain_text("Click a point")
    page.keyboard.press("n")
    expect(editor(page)).to_contain_text("Datapoint 0")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Box", exact=True).click()
    box = get_stable_box(plot)
    page.mouse.move(box.x + 70, box.y + 60)
    page.mouse.down()
    page.mouse.move(box.x + box.width - 20, box.y + box.height - 50, steps=4)
    page.mouse.up()
    expect(page.get_by_text(re.compile(r"^\d+ datapoints selected"))).to_be_visible()
    page.get_by_role("button", name="Clear selection").click()
    expect(page.get_by_text(re.compile("datapoints selected"))).to_have_count(0)


def test_editing_predicts_again_and_undo_restores(editable: str, open_page: OpenPage) -> None:
    data = make_people()
    page = open_page(editable + "&wi-row=3")
    wait_for_plot(page)
    before = float(predict_steep({name: values[3] for name, values in data.items()}))
    expect(score_cell(page, "steep", 2)).to_have_text(f"{before:.4g}")
    field = editor(page).get_by_label("age", exact=False).first
    original = int(data["age"][3])
    changed = 79 if original < 60 else 20
    field.fill(str(changed))
    field.press("Enter")
    row = {name: values[3] for name, values in data.items()} | {"age": changed}
    after = float(predict_steep(row))
    expect(score_cell(page, "steep", 2)).to_have_text(f"{after:.4g}")
    expect(score_cell(page, "steep", 1)).to_have_text(f"{before:.4g}")
    expect(score_cell(page, "steep", 3)).to_have_text(re.compile(r"^[+\u2212]0?\.?\d"))
    expect(editor(page)).to_contain_text(f"was {original}")
    expect(editor(page)).to_contain_text("1 change; files are not modified.")
    editor(page).get_by_role("button", name="Changes").click()
    history = editor(page).get_by_role("list", name="Changes")
    expect(history).to_contain_text(f"age: {original} \u2192 {changed}")
    editor(page).get_by_role("button", name="Undo").click()
    expect(score_cell(page, "steep", 2)).to_have_text(f"{before:.4g}")
    expect(editor(page)).not_to_contain_text("files are not modified")


def test_wrong_values_are_explained_in_place(editable: str, open_page: OpenPage) -> None:
    page = open_page(editable + "&wi-row=3")
    field = editor(page).get_by_label("age", exact=False).first
    value = field.input_value()
    field.fill("old")
    field.press("Enter")
    expect(editor(page)).to_contain_text("needs an integer")
    expect(field).to_have_value(value)


def test_a_model_that_fails_keeps_the_change(tmp_path: Path, open_page: OpenPage) -> None:
    def predict(columns: Any) -> Any:
        if np.isnan(columns["age"]).any():
            raise ValueError("Input contains NaN")
        return predict_flat(columns)

    workspace = make_workspace()
    workspace.add_model(wrap_model(predict, "strict"))
    with serve_workspaces(tmp_path / "logs", {"people": workspace}) as url:
        page = open_page(url + TAB + "&wi-row=3")
        wait_for_plot(page)
        expect(score_cell(page, "strict", 2)).to_have_text(re.compile(r"^0\.\d+"))
        editor(page).get_by_role("button", name="Clear age").click()
        expect(editor(page)).to_contain_text(
            'The model "strict" failed with ValueError: Input contains NaN'
        )
        expect(editor(page)).to_contain_text("The change is kept")
        expect(score_cell(page, "strict", 2)).to_have_text("\u2014")
        expect(wait_for_plot(page)).to_have_attribute("data-points", str(ROWS))
        editor(page).get_by_role("button", name="Undo").click()
        expect(score_cell(page, "strict", 2)).to_have_text(re.compile(r"^0\.\d+"))
        expect(editor(page)).not_to_contain_text("Input contains NaN")


def test_features_are_added_and_classes_named(editable: str, open_page: OpenPage) -> None:
    page = open_page(editable + "&wi-row=3")
    wait_for_plot(page)
    editor(page).get_by_role("button", name="Add feature").click()
    form = page.get_by_role("form", name="Add feature")
    form.get_by_label("Name").fill("bonus")
    form.get_by_label("Value").fill("many")
    form.get_by_role("button", name="Add", exact=True).click()
    expect(editor(page)).to_contain_text('"bonus" needs a float value, not "many"')
    form.get_by_label("Value").fill("2.5")
    form.get_by_role("button", name="Add", exact=True).click()
    expect(editor(page).get_by_label("bonus", exact=False).first).to_have_value("2.5")
    page.get_by_role("button", name="Data set menu").click()
    page.get_by_role("menuitem", name="Classes, inputs and types").click()
    dialog = page.get_by_role("dialog", name="Classes, inputs and types")
    expect(dialog.get_by_label("bonus")).to_be_checked()
    dialog.get_by_label("Class names", exact=True).fill("poor\nrich\nother")
    dialog.get_by_label("bonus").uncheck()
    dialog.get_by_role("button", name="Apply").click()
    expect(dialog).to_contain_text('The model "steep" has 2 classes, but 3 names were given.')
    dialog.get_by_label("Class names", exact=True).fill("poor\nrich")
    dialog.get_by_role("button", name="Apply").click()
    expect(dialog).to_have_count(0)
    table = page.get_by_role("table", name="Predictions of steep")
    expect(table.get_by_role("rowheader", name="rich")).to_be_visible()
    expect(page.get_by_role("group", name="Legend")).to_contain_text("rich")


def test_add_duplicate_and_delete(editable: str, open_page: OpenPage) -> None:
    page = open_page(editable + "&wi-row=3")
    plot = wait_for_plot(page)
    editor(page).get_by_role("button", name="Duplicate").click()
    expect(editor(page)).to_contain_text(f"Datapoint {ROWS}")
    expect(plot).to_have_attribute("data-points", str(ROWS + 1))
    editor(page).get_by_role("button", name="Delete", exact=True).click()
    editor(page).get_by_role("button", name="Delete datapoint").click()
    expect(plot).to_have_attribute("data-points", str(ROWS))
    expect(editor(page)).to_contain_text("Click a point")


def test_counterfactual_and_smallest_edit(editable: str, open_page: OpenPage) -> None:
    scores = predict_steep(make_people())
    page = open_page(editable + "&wi-row=3&wi-model=steep")
    wait_for_plot(page)
    editor(page).get_by_label("Show nearest counterfactual").check()
    found = editor(page).get_by_role("list", name="Counterfactuals").get_by_role("button").first
    row = int(found.inner_text().removeprefix("Datapoint "))
    assert (scores[row] >= 0.5) != (scores[3] >= 0.5)
    expect(page).to_have_url(re.compile("wi-cf=1"))
    editor(page).get_by_label("Neighbors").fill("9")
    editor(page).get_by_label("Neighbors").blur()
    neighbors = editor(page).get_by_role("list", name="Counterfactuals").get_by_role("listitem")
    expect(neighbors).to_have_count(9)
    editor(page).get_by_role("button", name="Find smallest edits").click()
    edits = editor(page).get_by_role("list", name="Smallest edits").get_by_role("listitem")
    edits.first.get_by_role("button", name="Apply").click()
    expect(editor(page)).to_contain_text("1 change")
    now = score_cell(page, "steep", 2)
    was_positive = bool(scores[3] >= 0.5)
    wait_for_value(page, lambda: float(now.inner_text()) >= 0.5, not was_positive)


def read_bounds(interval: Locator) -> list[float]:
    """Return both numbers of an interval."""
    return [float(text) for text in interval.inner_text().split("\u2013")]


def test_thresholds_are_dragged_without_the_server(people: str, open_page: OpenPage) -> None:
    data = make_people()
    page = open_page(people + "&wi=performance&wi-slice=sex&wi-model=steep")
    row = page.locator("[data-slice='sex:f']")
    women = data["sex"] == "f"
    labels, scores = data["income"][women], predict_steep(data)[women]
    accuracy = ((scores >= 0.5) == labels).mean()
    expect(row).to_contain_text(f"{round(100 * accuracy, 1):g}%")
    # The curves of both models have arrived.
    expect(page.get_by_role("article", name="ROC curve")).to_contain_text("flat (")
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    slider = row.get_by_role("slider")
    slider.focus()
    for _ in range(20):
        slider.press("ArrowRight")
    positive = scores >= 0.7
    accuracy = (positive == labels).mean()
    expect(row).to_contain_text(f"{round(100 * accuracy, 1):g}%")
    # The table of all metrics follows, with intervals for the new threshold.
    metrics = page.get_by_role("table", name="Metrics with 95% intervals")
    omitted = (labels[~positive] == 1).mean()
    women_steep = metrics.get_by_role("row").filter(has_text="sex: f").filter(has_text="steep")
    expect(women_steep).to_contain_text(f"{omitted:.3g} (")
    error = np.sqrt(accuracy * (1 - accuracy) / len(labels))
    width = pytest.approx(100 * 2 * 1.96 * error, rel=0.2)
    interval = row.locator("small").nth(2)
    wait_for_value(page, lambda: -np.subtract(*read_bounds(interval)), width)
    whole = page.get_by_role("slider", name="Threshold of All datapoints")
    whole.focus()
    for _ in range(5):
        whole.press("ArrowRight")
    expect(whole).to_have_value("0.55")
    expect(page).to_have_url(re.compile(r"wi-thresholds=.*0\.55"))
    assert [url for url in requests if "what_if" in url] == []


def read_thresholds(page: Page) -> dict[str, float]:
    """Return the thresholds of the slices, read at once."""
    script = """rows => rows.map(row =>
        [row.dataset.slice, Number(row.querySelector('.threshold').innerText)])"""
    return dict(page.locator("[data-slice]").evaluate_all(script))


def test_strategy_sets_thresholds_and_cells_open_datapoints(
    people: str, open_page: OpenPage
) -> None:
    data = make_people()
    page = open_page(people + "&wi=performance&wi-slice=sex&wi-model=steep")
    page.get_by_label("Strategy").select_option("Demographic parity")
    expect(page.get_by_text(re.compile("best single threshold"))).to_be_visible()
    women, men = data["sex"] == "f", data["sex"] == "m"
    scores = predict_steep(data)

    def has_equal_rates() -> bool:
        limits = read_thresholds(page)
        rates = [(scores[women] >= limits["sex:f"]).mean(), (scores[men] >= limits["sex:m"]).mean()]
        return bool(abs(rates[0] - rates[1]) < 0.05)

    wait_for_condition(page, has_equal_rates)
    page.get_by_role("button", name="Reset thresholds").click()
    errors = int(((scores >= 0.5) & (data["income"] == 0)).sum())
    matrix = page.get_by_role("region", name="Confusion matrix of All datapoints, steep")
    cell = matrix.get_by_role("button").nth(1)
    expect(cell).to_contain_text(str(errors))
    cell.click()
    expect(page.get_by_text(f"{errors} of {ROWS} shown")).to_be_visible()


def test_slices_by_predictions_and_exports_use_the_threshold(
    people: str, open_page: OpenPage
) -> None:
    limits = quote(json.dumps({"steep": {"": 0.8}}))
    page = open_page(
        f"{people}&wi=performance&wi-slice=predicted (steep)&wi-model=steep&wi-thresholds={limits}"
    )
    positive = int((predict_steep(make_people()) >= 0.8).sum())
    row = page.locator('[data-slice="predicted (steep):1"]')
    expect(row).to_contain_text(f"{positive:,}")
    page.get_by_role("button", name="Data set menu").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export rows as CSV").click()
    text = download.value.path().read_text("utf-8")
    predicted = [line["predicted (steep)"] for line in csv.DictReader(io.StringIO(text))]
    assert predicted.count("1") == positive


def test_numeric_slices_have_quantiles_or_own_edges(people: str, open_page: OpenPage) -> None:
    age = make_people()["age"]
    page = open_page(people + "&wi=performance&wi-slice=age&wi-model=steep")
    rows = page.locator("[data-slice]")
    expect(rows).to_have_count(5)
    bins = page.get_by_role("group", name="Bins of age")
    bins.get_by_role("combobox").select_option("Quantiles")
    bins.get_by_label("Number of bins of age").fill("3")
    bins.get_by_label("Number of bins of age").press("Enter")
    edges = np.quantile(age, [1 / 3, 2 / 3])
    counts = np.bincount(np.searchsorted(edges, age, side="right"))
    first = page.locator(f"[data-slice='age:< {edges[0]:.6g}']")
    expect(first.get_by_role("cell").first).to_have_text(str(counts[0]))
    bins.get_by_role("combobox").select_option("Custom edges")
    field = bins.get_by_label("Bin edges of age")
    field.fill("thirty")
    expect(bins).to_contain_text("Enter numbers separated by commas")
    field.fill("60, 30")
    field.press("Enter")
    old = page.locator("[data-slice='age:>= 60']")
    expect(old.get_by_role("cell").first).to_have_text(str((age >= 60).sum()))
    expect(page).to_have_url(re.compile("wi-bins="))
    page.get_by_role("searchbox", name="Filter slices").fill("\u2265 60")
    expect(page.get_by_text("1 of 3 slices")).to_be_visible()
    expect(rows).to_have_count(2)
    old.get_by_role("button", name="age: \u2265 60", exact=True).click()
    errors = int(((predict_steep(make_people()) >= 0.5) & (make_people()["income"] == 0)
                  & (age >= 60)).sum())  # fmt: skip
    matrix = page.get_by_role("region", name="Confusion matrix of age: \u2265 60")
    cell = matrix.get_by_role("button").nth(1)
    expect(cell).to_contain_text(str(errors))
    cell.click()
    expect(page.get_by_text(f"{errors} of {ROWS} shown")).to_be_visible()


def test_cells_of_classes_with_names_open_datapoints(tmp_path: Path, open_page: OpenPage) -> None:
    workspace = make_class_workspace()
    x = workspace.table.get_column("x").values
    wrong = int(((x.astype(int) == 0) & (x + 0.3 >= 1)).sum())
    with serve_workspaces(tmp_path / "logs", {"classes": workspace}) as url:
        page = open_page(url + TAB + "&wi=performance")
        matrix = page.get_by_role("region", name="Confusion matrix of All datapoints")
        scores, labels = workspace.predict().scores, workspace.get_labels()
        area = roc_auc_score(labels == 2, scores[:, 2])
        curves = page.get_by_role("article", name="ROC curve")
        expect(curves).to_contain_text(f"high ({area:.3g}, 95% interval ")
        expect(page.get_by_role("table", name="Mean attributions")).to_contain_text("x")
        matrix.get_by_role("button").nth(1).click()
        expect(page.get_by_text(f"{wrong} of {len(x)} shown")).to_be_visible()
        page.goto(url + TAB + "&wi=attributions&wi-row=3")
        given = page.get_by_role("group", name="Attributions of the model")
        expect(given).to_contain_text(f"{abs(x[3] - 1.5):.4g}")
        expect(page.get_by_text("the score of class high")).to_be_visible()


def test_limits_of_classes_and_slices_are_explained(tmp_path: Path, open_page: OpenPage) -> None:
    x = np.arange(120) / 5

    def predict(columns: Any) -> Any:
        return np.eye(24)[columns["x"].astype(int)]

    many = Workspace(
        to_table({"x": x, "label": x.astype(int)}), [wrap_model(predict, "steps")], label="label"
    )
    with serve_workspaces(tmp_path / "many", {"many": many}) as url:
        page = open_page(url + TAB + "&wi=performance")
        expect(page.get_by_text("Confusion matrices are shown for up to 20")).to_be_visible()
        expect(page.get_by_text("The curves of the first 20 of 24 classes")).to_be_visible()
    with serve_workspaces(tmp_path / "few", {"few": make_class_workspace()}) as url:
        page = open_page(url + TAB + "&wi=performance&wi-slice=x&wi-bins=%7B%22x%22%3A14%7D")
        expect(page.get_by_text("The first 11 of 14 slices are shown.")).to_be_visible()


def test_dependence_overlays_models(people: str, open_page: OpenPage) -> None:
    page = open_page(people + "&wi=dependence&wi-model=steep")
    legend = page.get_by_role("list", name="Legend")
    expect(legend).to_contain_text("flat")
    job = page.get_by_role("article", name="job")
    expect(job.get_by_role("listitem")).to_have_count(6)
    expect(job).to_contain_text("cook \u00b7 flat")
    page.get_by_label("Overlay all models").uncheck()
    expect(job.get_by_role("listitem")).to_have_count(3)
    expect(legend).to_have_count(0)


def test_dependence_is_sorted_and_ranges_can_be_changed(people: str, open_page: OpenPage) -> None:
    page = open_page(people + "&wi=dependence&wi-model=steep&wi-pair=age,education")
    cards = page.get_by_role("article")
    expect(cards).to_have_count(5)
    expect(cards.first).to_have_accessible_name("age")
    expect(cards.nth(2)).to_contain_text("variation 0")
    end = cards.first.get_by_label("End of the range of age")
    end.fill("200")
    end.press("Enter")
    expect(end).to_have_value("200")
    table = page.get_by_role("table", name="Dependence on age \u00d7 education")
    data = make_people()
    low = predict_steep({"age": np.min(data["age"]), "education": np.min(data["education"])})
    expect(table.locator("td").first).to_have_text(f"{low:.3g}")
    svg = export_svg(page, "Dependence on age \u00d7 education")
    assert f">{low:.3g}<" in svg and ">education<" in svg
    pixels = export_png(page, "Dependence on age \u00d7 education")
    colors = {tuple(color) for color in pixels[::8, ::8].reshape(-1, 3).tolist()}
    assert len(colors) > 20  # 100 cells from low to high


def test_disagreements_come_first(people: str, open_page: OpenPage) -> None:
    data = make_people()
    steep, flat = predict_steep(data), predict_flat(data)
    differs = (steep >= 0.5) != (flat >= 0.5)
    page = open_page(people + "&wi=compare&wi-model=steep&wi-slice=sex")
    expect(page.get_by_text(f"predict {differs.sum()} datapoints differently")).to_be_visible()
    largest = int(np.argmax(np.where(differs, abs(steep - flat), 0)))
    table = page.get_by_role("table", name="Disagreements")
    women = data["sex"] == "f"
    accuracy = [((score >= 0.5) == data["income"])[women].mean() for score in (steep, flat)]
    deltas = page.get_by_role("table", name="Metrics of flat minus steep")
    row = deltas.get_by_role("row").filter(has_text="sex: f")
    expect(row).to_contain_text(f"{abs(accuracy[1] - accuracy[0]):.3g}")
    table.get_by_role("button", name=f"Datapoint {largest}", exact=True).click()
    expect(editor(page)).to_contain_text(f"Datapoint {largest}")
    page.go_back()
    flipped = int(((steep >= 0.5) & (flat < 0.5)).sum())
    matrix = page.get_by_role("region", name="Predictions of both models")
    matrix.get_by_role("button").nth(2).click()
    expect(page.get_by_text(f"{flipped} of {ROWS} shown")).to_be_visible()


def test_importance_and_shapley_values(people: str, open_page: OpenPage) -> None:
    page = open_page(people + "&wi=attributions&wi-model=steep&wi-row=3")
    page.get_by_role("button", name="Compute importance").click()
    importance = page.get_by_role("group", name="Permutation importance")
    expect(importance).to_contain_text("age")
    expect(page.get_by_text("Accuracy without shuffling").first).to_be_visible()
    page.get_by_role("button", name="Compute Shapley values").click()
    expect(page.get_by_role("group", name="Shapley values of datapoint 3")).to_be_visible()


def test_features_have_statistics(people: str, open_page: OpenPage) -> None:
    data = make_people()
    page = open_page(people + "&wi=features")
    table = page.get_by_role("table", name="Numeric features")
    expect(table).to_contain_text(f"{data['age'].mean():.4g}")
    page.get_by_role("button", name="age", exact=True).click()
    details = page.get_by_role("article", name="Distribution of age")
    expect(details).to_contain_text("[18, ")
    details.get_by_role("button", name="Quantiles").click()
    expect(details.get_by_label("Quantiles of age").first).to_be_visible()
    page.get_by_role("searchbox", name="Find a feature").fill("(")
    expect(page.get_by_text("Not a valid regular expression")).to_be_visible()
    page.get_by_role("searchbox", name="Find a feature").fill("^JOB$")
    expect(table).to_have_count(0)
    expect(page.get_by_role("table", name="Categorical features")).to_contain_text("job")


def test_images_are_shown_and_replaced(tmp_path: Path, open_page: OpenPage) -> None:
    with serve_workspaces(tmp_path / "logs", {"photos": make_image_workspace()}) as url:
        page = open_page(url + TAB + "&wi-row=2")
        image = editor(page).get_by_role("img", name="photo of datapoint 2")
        expect(image).to_be_visible()
        editor(page).get_by_role("button", name="Draw").click()
        drawing = editor(page).get_by_label("Draw on photo")
        drawing.click()
        editor(page).get_by_role("button", name="Apply").click()
        expect(editor(page)).to_contain_text("1 change")


def test_images_are_drawn_at_points_and_uploaded(tmp_path: Path, open_page: OpenPage) -> None:
    with serve_workspaces(tmp_path / "logs", {"photos": make_image_workspace()}) as url:
        page = open_page(url + TAB + "&wi-row=2")
        plot = wait_for_plot(page)
        expect(plot).to_have_attribute("data-images", "0")
        choose(page, "Image", "photo")
        expect(plot).to_have_attribute("data-images", "6")
        expect(page).to_have_url(re.compile("wi-image=photo"))
        image = editor(page).get_by_role("img", name="photo of datapoint 2")
        before = image.get_attribute("src")
        png = encode_png(np.zeros((4, 4, 3), np.uint8))
        editor(page).get_by_label("Image file for photo").set_input_files(
            {"name": "black.png", "mimeType": "image/png", "buffer": png}
        )
        expect(editor(page)).to_contain_text("1 change")
        expect(image).not_to_have_attribute("src", before or "")
        expect(plot).to_have_attribute("data-images", "6")


def test_sequences_are_edited_by_step_and_vectors_compared(
    tmp_path: Path, open_page: OpenPage
) -> None:
    workspace = make_sequence_workspace()
    vectors = np.reshape(workspace.table.get_column("vector").values, (-1, 4))
    with serve_workspaces(tmp_path / "logs", {"sequences": workspace}) as url:
        page = open_page(url + TAB + "&wi-row=4")
        wait_for_plot(page)
        field = editor(page).get_by_label("speed", exact=False).first
        expect(field).to_have_value("4")
        slider = editor(page).get_by_role("slider", name="Step")
        slider.focus()
        slider.press("ArrowRight")
        expect(field).to_have_value("[2,3]")
        field.fill("[20, 3]")
        field.press("Enter")
        table = page.get_by_role("table", name="Predictions of total")
        expect(table).to_contain_text("32")
        expect(editor(page)).to_contain_text("was [2,3]")
        editor(page).get_by_role("button", name="Color by distance").click()
        settings = page.get_by_role("group", name="Distance settings")
        settings.get_by_role("button", name="L2").click()
        settings.get_by_label("Compare by").select_option("vector (4 dimensions)")
        largest = np.linalg.norm(vectors - vectors[4], axis=1).max()
        expect(page.get_by_role("group", name="Legend")).to_contain_text(f"{largest:.4g}")
        # The distance to another datapoint is a column of its own.
        editor(page).get_by_role("button", name="Next").click()
        editor(page).get_by_role("button", name="Color by distance").click()
        expect(settings).to_have_count(2)
        choose(page, "X axis", "L2 distance to datapoint 4 (vector)")
        choose(page, "Y axis", "L1 distance to datapoint 5")
        name = (
            "30 datapoints, X: L2 distance to datapoint 4 (vector), Y: L1 distance to datapoint 5"
        )
        expect(wait_for_plot(page)).to_have_accessible_name(name)
        settings.first.get_by_role("button", name="Remove distance").click()
        expect(settings).to_have_count(1)
        expect(page.get_by_role("application")).to_have_accessible_name(
            re.compile("X: (?!L2).*Y: L1 distance to datapoint 5")
        )


def test_images_of_sequences_are_replaced_step_by_step(tmp_path: Path, open_page: OpenPage) -> None:
    with serve_workspaces(tmp_path / "logs", {"films": make_film_workspace()}) as url:
        page = open_page(url + TAB + "&wi-row=1")
        wait_for_plot(page)
        image = editor(page).get_by_role("img", name="film of datapoint 1")
        expect(image).to_be_visible()
        first = image.get_attribute("src") or ""
        slider = editor(page).get_by_role("slider", name="Step")
        slider.focus()
        slider.press("ArrowRight")
        expect(image).not_to_have_attribute("src", first)
        black = encode_png(np.zeros((8, 8, 3), np.uint8))
        editor(page).get_by_label("Image file for film").set_input_files(
            {"name": "black.png", "mimeType": "image/png", "buffer": black}
        )
        table = page.get_by_role("table", name="Predictions of middle")
        expect(table.locator("td.now")).to_have_text("0")
        expect(editor(page).get_by_text("2 of 3")).to_be_visible()


def test_counterfactual_by_embedding(tmp_path: Path, open_page: OpenPage) -> None:
    workspace = make_vector_workspace()
    vectors = np.reshape(workspace.table.get_column("vector").values, (-1, 3))
    with serve_workspaces(tmp_path / "logs", {"vectors": workspace}) as url:
        page = open_page(url + TAB + "&wi-row=3&wi-cf=1")
        found = editor(page).get_by_role("list", name="Counterfactuals")
        expect(found).to_contain_text("Datapoint 20")  # the first with a positive feature
        editor(page).get_by_role("button", name="L2").click()
        editor(page).get_by_label("Compare by").select_option("vector (3 dimensions)")
        distances = np.linalg.norm(vectors - vectors[3], axis=1)[20:]
        nearest = 20 + int(distances.argmin())
        expect(found).to_contain_text(f"Datapoint {nearest}")
        expect(found).to_contain_text(f"{distances.min():.4g}")
        expect(page).to_have_url(re.compile("wi-embedding=vector"))
        expect(editor(page).get_by_label("Weight of x")).to_have_count(0)


def test_counterfactual_by_a_function_of_the_program(tmp_path: Path, open_page: OpenPage) -> None:
    workspace = make_vector_workspace()
    workspace.distance = lambda table, row: np.arange(len(table), 0, -1)
    with serve_workspaces(tmp_path / "logs", {"vectors": workspace}) as url:
        page = open_page(url + TAB + "&wi-row=3&wi-cf=1")
        found = editor(page).get_by_role("list", name="Counterfactuals")
        expect(found).to_contain_text("Datapoint 20")
        expect(editor(page).get_by_label("Weight of x")).to_have_count(1)
        editor(page).get_by_role("button", name="Custom").click()
        expect(found).to_contain_text("Datapoint 39")  # the last has the distance 1
        expect(editor(page).get_by_label("Compare by")).to_have_count(0)
        expect(editor(page).get_by_label("Weight of x")).to_have_count(0)


def test_data_files_are_opened_in_the_page(tmp_path: Path, open_page: OpenPage) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    data = make_people()
    score = predict_steep(data)
    lines = [
        f"{age},{score[at]:.6f},{data['income'][at]}" for at, age in enumerate(data["age"].tolist())
    ]
    (logs / "people.csv").write_text("\n".join(["age,p,income", *lines]))
    with serve_workspaces(logs, {}, data_dirs=(str(logs),)) as url:
        page = open_page(url + TAB)
        page.get_by_role("button", name="Open data").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name=re.compile("people.csv")).click()
        dialog.get_by_label("Ground truth column").fill("income")
        dialog.get_by_role("button", name="Open", exact=True).click()
        expect(wait_for_plot(page)).to_have_attribute("data-points", str(ROWS))
        page.get_by_role("button", name="Add model").click()
        dialog.get_by_label("Kind").select_option("Columns of the data")
        dialog.get_by_label("Columns with predictions").fill("p")
        dialog.get_by_role("button", name="Add model").click()
        expect(wait_for_plot(page)).to_have_accessible_name(re.compile("Y: score"))
        # A link opens the file and adds the model again, as after a restart of the server.
        link = get_stable_url(page)
        for session in page.request.get(f"{url}api/v1/what_if/sessions").json()["sessions"]:
            page.request.post(f"{url}api/v1/what_if/close", data={"session": session["session"]})
        page.goto("about:blank")
        page.goto(link)
        expect(wait_for_plot(page)).to_have_accessible_name(re.compile("Y: score"))
        expect(page.get_by_text("1 model", exact=False)).to_be_visible()


def test_data_sets_are_compared_and_charts_saved(tmp_path: Path, open_page: OpenPage) -> None:
    workspaces = {"people": make_workspace(), "may": make_workspace(60), "june": make_workspace(90)}
    with serve_workspaces(tmp_path / "logs", workspaces) as url:
        page = open_page(url + TAB + "&wi=features&wi-data=people")
        compared = page.get_by_role("group", name="Compare with")
        compared.get_by_role("checkbox", name="may").click()
        compared.get_by_role("checkbox", name="june").click()
        page.get_by_role("button", name="age", exact=True).click()
        table = page.get_by_role("table", name="Statistics of age")
        for name, rows in (("people", ROWS), ("may", 60), ("june", 90)):
            mean = make_people(rows)["age"].mean()
            row = table.get_by_role("row").filter(has_text=name)
            expect(row).to_contain_text(str(rows))
            expect(row).to_contain_text(f"{mean:.4g}")
        assert "[18, " in export_svg(page, "Distribution of age")
        types = page.get_by_role("group", name="Types of features")
        types.get_by_role("checkbox", name="Text").check()
        expect(page.get_by_role("table", name="Numeric features")).to_have_count(0)
        expect(page.get_by_role("table", name="Categorical features")).to_contain_text("job")


def test_named_slices_and_the_cost_of_a_smaller_gap(editable: str, open_page: OpenPage) -> None:
    condition = '[{"column":"age","low":60}]'
    page = open_page(f"{editable}&wi-filter={condition}")
    wait_for_plot(page)
    svg = export_svg(page, "Datapoints of people")
    assert len(re.findall(r'<circle[^>]*r="3.5"', svg)) == (make_people()["age"] >= 60).sum()
    page.get_by_role("button", name="Save as slice").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("age")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_contain_text("already have a column")
    dialog.get_by_label("Name").fill("old")
    dialog.get_by_role("button", name="Save", exact=True).click()
    expect(dialog).to_have_count(0)
    page.get_by_role("button", name="Performance", exact=True).click()
    choose(page, "Slice by", "old")
    count = int((make_people()["age"] >= 60).sum())
    expect(page.locator("[data-slice='old:True'] [role=cell]").first).to_have_text(str(count))
    matrix = page.get_by_role("region", name="Confusion matrix of All datapoints")
    expect(matrix.locator("tfoot td").last).to_have_text(str(ROWS))
    page.get_by_role("button", name="Cost and gap").click()
    choices = page.get_by_role("table", name="Cost and gap")
    choices.get_by_role("button").first.click()
    gap = float(choices.get_by_role("button").first.inner_text())
    scores, old = predict_steep(make_people()), make_people()["age"] >= 60
    expect(page).to_have_url(re.compile("wi-thresholds="))

    def read_gap() -> float:
        thresholds = read_thresholds(page)
        parts = {"old:True": old, "old:False": ~old}
        rates = [(scores[part] >= thresholds[name]).mean() for name, part in parts.items()]
        return abs(rates[0] - rates[1])

    wait_for_value(page, read_gap, pytest.approx(gap, abs=1e-3))


def test_many_points_are_exported_as_a_picture(tmp_path: Path, open_page: OpenPage) -> None:
    with serve_workspaces(tmp_path / "logs", {"many": make_workspace(20_001)}) as url:
        page = open_page(url + TAB + "&wi-color=sex", color_scheme="dark")
        wait_for_plot(page)
        svg = export_svg(page, "Datapoints of many")
        # The two circles of the legend.
        assert svg.count("<circle") == 2 and 'href="data:image/png' in svg
        pixels = export_png(page, "Datapoints of many").reshape(-1, 3)
        assert (pixels == 255).all(axis=1).mean() > 0.3  # a light background
        colored = np.ptp(pixels.astype(int), axis=1) > 60
        assert colored.mean() > 0.005


@pytest.mark.parametrize("view", VIEWS)
def test_views_fit_and_are_accessible(view: str, people: str, open_page: OpenPage) -> None:
    page = open_page(people + f"&wi={view}&wi-row=3&wi-slice=sex")
    if view == "datapoints":
        wait_for_plot(page)
    else:
        expect(page.locator("[data-ready]").first).to_be_visible()
    expect(page.locator("main [aria-busy=true]")).to_have_count(0)
    get_stable_text(page.locator("main"))
    assert not overflows(page)
    assert list_violations(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert not overflows(page)


def write_predictions(path: Path) -> dict[str, np.ndarray]:
    """Write people with the scores of a model as CSV."""
    import pandas as pd

    columns = make_people()
    columns["score"] = predict_steep(columns)
    path.parent.mkdir(parents=True)
    pd.DataFrame(columns).to_csv(path, index=False)
    return columns


def test_static_export_of_a_file(tmp_path: Path, open_page: OpenPage) -> None:
    columns = write_predictions(tmp_path / "data" / "people.csv")
    (tmp_path / "logs").mkdir()
    target = tmp_path / "board.html"
    view = (
        f"tab=what_if&wi-file={tmp_path}/data/people.csv&wi-file-label=income&wi-file-scores=score"
        '&wi-filter=[{"column":"sex","value":"f"}]&wi-row=3&wi-slice=age&wi-bins={"age":[30]}'
        '&wi-thresholds={"predictions":{"":0.7,"age:< 30":0.2}}'
    )
    arguments = ["--no-cache", f"--static={target}", f"--view={view}"]
    assert main(["export", str(tmp_path / "logs"), *arguments, f"--data-dir={tmp_path}/data"]) == 0
    assert str(tmp_path) not in target.read_text("utf-8")
    page = open_page(target.as_uri())
    wait_for_plot(page)
    women = int((columns["sex"] == "f").sum())
    expect(page.get_by_text(f"{women} of {ROWS} shown")).to_be_visible()
    expect(page.get_by_text("This is a static export")).to_be_visible()
    expect(editor(page).get_by_label("age", exact=True)).to_have_value(str(columns["age"][3]))
    expect(page.get_by_role("button", name="Open data")).to_have_count(0)
    decided = columns["score"] >= np.where(columns["age"] < 30, 0.2, 0.7)
    legend = page.get_by_role("group", name="Legend")
    expect(legend).to_contain_text(f"1 {int(decided.sum())}")
    page.get_by_role("button", name="Performance", exact=True).click()
    accuracy = ((columns["score"] >= 0.7) == columns["income"]).mean()
    expect(page.get_by_text(f"{accuracy:.3g} (").first).to_be_visible()
    young = columns["age"] < 30
    accuracy = (decided == columns["income"])[young].mean()
    expect(page.locator("[data-slice='age:< 30']")).to_contain_text(f"{100 * accuracy:.1f}%")
    page.get_by_role("button", name="Features", exact=True).click()
    expect(page.get_by_role("table").get_by_text("education").first).to_be_visible()
    for view_name in ("Dependence", "Compare", "Attributions"):
        page.get_by_role("button", name=view_name, exact=True).click()
        expect(page.get_by_role("main").get_by_role("paragraph").first).to_be_visible()
    assert list_violations(page) == []


def test_static_export_of_images(tmp_path: Path, open_page: OpenPage) -> None:
    import pyarrow
    import pyarrow.parquet

    images = [encode_png(np.full((8, 8, 3), shade, np.uint8)) for shade in (0, 90, 180, 250)]
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "logs").mkdir()
    table = pyarrow.table({"x": [1.0, 2.0, 3.0, 4.0], "photo": images})
    pyarrow.parquet.write_table(table, data / "photos.parquet")
    target = tmp_path / "board.html"
    view = f"tab=what_if&wi-file={data}/photos.parquet&wi-image=photo&wi-row=2"
    arguments = ["--no-cache", f"--static={target}", f"--view={view}", f"--data-dir={data}"]
    assert main(["export", str(tmp_path / "logs"), *arguments]) == 0
    page = open_page(target.as_uri())
    expect(wait_for_plot(page)).to_have_attribute("data-images", "4")
    image = editor(page).get_by_role("img", name="photo of datapoint 2")
    expect(image).to_be_visible()
    shade = image.evaluate(
        """async image => {
          await image.decode();
          const canvas = new OffscreenCanvas(1, 1);
          const drawing = canvas.getContext('2d');
          drawing.drawImage(image, 0, 0, 1, 1);
          return [...drawing.getImageData(0, 0, 1, 1).data];
        }"""
    )
    assert shade == [180, 180, 180, 255]
    expect(editor(page).get_by_role("button", name="Replace…")).to_be_disabled()
