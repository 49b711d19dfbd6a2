"""Export of scalars: CSV, JSON, Parquet, images and Python code."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.cards import choose_menu_item, drawn_chart, open_settings
from tests.web.conftest import Board
from tests.web.locators import run_row
from tests.web.scalar_log import RUNS, STEPS, loss, write_scalar_log

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    logdir = tmp_path_factory.mktemp("curves") / "logs"
    write_scalar_log(logdir)
    return logdir


@pytest.fixture(scope="module")
def board(logdir: Path) -> Iterator[str]:
    board = Board(logdir)
    yield board.address
    board.stop()


@pytest.fixture
def page(board: str, open_page: Callable[..., Page]) -> Page:
    page = open_page(f"{board}?tags=train/loss&smoothing=0")
    drawn_chart(page, "train/loss")
    return page


def download_file(page: Page, item: str, title: str = "train/loss") -> tuple[str, bytes]:
    with page.expect_download() as download:
        choose_menu_item(page, title, item)
    return download.value.suggested_filename, download.value.path().read_bytes()


def test_downloads_card_as_csv_json_svg_and_png(page: Page) -> None:
    name, content = download_file(page, "Export CSV")
    assert name == "train_loss.csv"
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    found = [float(row["value"]) for row in rows if row["run"] == "vit"]
    assert found == pytest.approx(loss("vit"))
    assert [int(row["step"]) for row in rows if row["run"] == "conv/a"] == list(STEPS)
    assert {row["tag"] for row in rows} == {"train/loss"}

    name, content = download_file(page, "Export JSON")
    assert name == "train_loss.json"
    assert "conv/b" in content.decode()
    json.loads(content)

    name, content = download_file(page, "Export SVG")
    assert name == "train_loss.svg"
    assert b"<svg" in content and b"train/loss" in content
    name, content = download_file(page, "Export PNG")
    assert name == "train_loss.png"
    assert content.startswith(b"\x89PNG")


def test_downloads_view_as_one_file(page: Page) -> None:
    page.get_by_role("combobox", name="Filter tags").fill("train/loss")
    panel = open_settings(page)
    with page.expect_download() as download:
        panel.get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert {row["tag"] for row in rows} == {"train/loss", "train/loss_2", "train/loss_10"}
    assert {row["run"] for row in rows} == set(RUNS)
    with page.expect_download() as download:
        panel.get_by_role("button", name="Parquet").click()
    content = download.value.path().read_bytes()
    assert content.startswith(b"PAR1") and content.endswith(b"PAR1")


def test_downloads_only_selected_runs(page: Page) -> None:
    run_row(page, "vit").get_by_role("checkbox").click()
    expect(page.get_by_role("img").first).to_have_attribute("aria-label", re.compile("2 lines"))
    _, content = download_file(page, "Export CSV")
    assert {row["run"] for row in csv.DictReader(io.StringIO(content.decode()))} == {
        "conv/a",
        "conv/b",
    }


def test_python_code_of_card_reads_same_values(page: Page, logdir: Path) -> None:
    run_row(page, "conv/a").get_by_role("checkbox").click()
    expect(page.get_by_role("img").first).to_have_attribute("aria-label", re.compile("2 lines"))
    choose_menu_item(page, "train/loss", "Copy as Python…")
    code = page.get_by_role("dialog").get_by_role("region", name="Code").inner_text()
    assert str(logdir) in code
    check = "import json; print(json.dumps([sorted(set(table['run'])), values.tolist()]))"
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{check}"], capture_output=True, text=True, check=True
    )
    runs, values = json.loads(result.stdout)
    assert runs == ["conv/b", "vit"]
    assert values == pytest.approx([*loss("conv/b"), *loss("vit")])


def test_python_code_of_view_runs(page: Page) -> None:
    panel = open_settings(page)
    panel.get_by_role("button", name="Python").click()
    code = panel.get_by_role("region", name="Code").inner_text()
    assert "run=" not in code
    subprocess.run([sys.executable, "-c", code], check=True)


def test_shows_error_when_download_fails(page: Page) -> None:
    page.route("**/scalars/table", lambda route: route.abort())
    open_settings(page).get_by_role("button", name="CSV").click()
    expect(page.get_by_role("alert")).to_contain_text("Server unreachable")
