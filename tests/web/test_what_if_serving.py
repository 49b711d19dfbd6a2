"""The scenario of the What-If Tool's documents in a browser, with a model server process."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.serving_process import compute_expected, start_serving
from tests.web.test_what_if import TAB, editor, score_cell, wait_for_plot
from tests.web.waiting import wait_for_value
from tests.web.what_if_data import serve_workspaces
from tracklight.analysis.tables.examples import encode_examples
from tracklight.analysis.tables.objects import to_table
from tracklight.formats.tfrecord import write_records

pytestmark = [pytest.mark.browser, pytest.mark.slow]

OpenPage = Callable[..., Page]
ROWS = 200
EDITED = 5


def add_served_model(page: Page, address: str, name: str) -> None:
    page.get_by_role("button", name="Add model").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Address").fill(address)
    dialog.get_by_label("Model name").fill(name)
    dialog.get_by_role("button", name="Add model").click()
    expect(dialog).to_have_count(0)


def wait_for_score(page: Page, model: str, expected: float) -> None:
    cell = score_cell(page, model, 2)
    wait_for_value(page, lambda: float(cell.inner_text()), pytest.approx(expected, abs=1e-3))


def test_compare_served_models_edit_a_point_and_find_a_counterfactual(
    tmp_path: Path, open_page: OpenPage
) -> None:
    pytest.importorskip("tensorflow_serving")
    pytest.importorskip("grpc")
    random = np.random.default_rng(0)
    a, b = (random.normal(size=ROWS).astype(np.float32) for _ in range(2))
    label = (compute_expected("one", a, b) > 0.5).astype(int)
    logs = tmp_path / "logs"
    logs.mkdir()
    with (logs / "test.tfrecord").open("wb") as stream:
        table = to_table({"a": a, "b": b, "label": label})
        write_records(stream, encode_examples(table), compression="gzip")
    with start_serving() as address, serve_workspaces(logs, {}, data_dirs=(str(logs),)) as url:
        page = open_page(url + TAB)
        page.get_by_role("button", name="Open data").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Data file", exact=True).fill("test.tfrecord")
        dialog.get_by_label("Ground truth column").fill("label")
        dialog.get_by_role("button", name="Open", exact=True).click()
        expect(wait_for_plot(page)).to_have_attribute("data-points", str(ROWS))
        add_served_model(page, address, "one")
        expect(wait_for_plot(page)).to_have_accessible_name(re.compile("Y: score"))
        add_served_model(page, address, "two")
        expect(wait_for_plot(page)).to_have_accessible_name(
            re.compile(r"X: score \(one\), Y: score \(two\)")
        )

        # Two models compared.
        page.get_by_role("button", name="Compare", exact=True).click()
        one, two = (compute_expected(name, a, b) >= 0.5 for name in ("one", "two"))
        differs = int((one != two).sum())
        expect(page.get_by_text(f"predict {differs} datapoints differently")).to_be_visible()
        page.get_by_role("button", name="Datapoints", exact=True).click()
        wait_for_plot(page)

        # A point edited: both models predict it again.
        for _ in range(EDITED + 1):
            editor(page).get_by_role("button", name="Next").click()
        expect(editor(page)).to_contain_text(f"Datapoint {EDITED}")
        before = float(compute_expected("one", a[EDITED], b[EDITED]))
        wait_for_score(page, "one", before)
        field = editor(page).locator("[data-feature=a] input")
        value = -3.0 if one[EDITED] else 3.0
        field.fill(str(value))
        field.press("Enter")
        expect(score_cell(page, "one", 3)).to_have_text(re.compile("[+\u2212]"))
        after = float(compute_expected("one", value, b[EDITED]))
        wait_for_score(page, "one", after)
        two_after = float(compute_expected("two", value, b[EDITED]))
        wait_for_score(page, "two", two_after)

        # A counterfactual found.
        editor(page).get_by_label("Show nearest counterfactual").check()
        found = editor(page).get_by_role("list", name="Counterfactuals").get_by_role("button")
        row = int(found.first.inner_text().removeprefix("Datapoint "))
        assert one[row] != (after >= 0.5)


def test_a_server_that_is_down_is_a_sentence_in_place(tmp_path: Path, open_page: OpenPage) -> None:
    pytest.importorskip("grpc")
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "data.csv").write_text("a,b\n1,2\n3,4\n")
    with serve_workspaces(logs, {}, data_dirs=(str(logs),)) as url:
        page = open_page(url + TAB)
        page.get_by_role("button", name="Open data").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Data file", exact=True).fill("data.csv")
        dialog.get_by_role("button", name="Open", exact=True).click()
        expect(wait_for_plot(page)).to_have_attribute("data-points", "2")
        add_served_model(page, "localhost:9", "gone")
        expect(page.get_by_role("button", name="Retry")).to_be_visible()
        expect(page.locator("main")).to_contain_text("localhost:9")
        expect(wait_for_plot(page)).to_have_attribute("data-points", "2")
