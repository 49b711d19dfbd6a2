"""The Query tool: SQL over a capture, saved queries, and links to the trace."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import serve_log
from tests.web.profile_log import DATA, TAB, open_tool, tool_panel
from tests.web.test_appearance import list_violations, overflows
from tests.web.test_profile_tools import table_rows
from tracklight.analysis.profiles.captures import open_capture

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
CAPTURE = DATA / "torch_f32.pt.trace.json.gz"


def write_capture(logdir: Path) -> None:
    (logdir / "net").mkdir(parents=True)
    (logdir / "net" / "step.json.gz").write_bytes(CAPTURE.read_bytes())


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_log(tmp_path_factory.mktemp("query"), write_capture) as address:
        yield address + TAB


def run_sql(page: Page, sql: str) -> None:
    editor = page.get_by_role("textbox", name="SQL query")
    editor.fill(sql)
    editor.press("Control+Enter")


def test_result_is_a_table_that_links_to_events(
    board: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(board)
    open_tool(page, "Query")
    tool_panel(page, "query")
    run_sql(
        page, "SELECT event, name, duration_ms FROM events WHERE on_device ORDER BY 3 DESC LIMIT 5"
    )
    rows = table_rows(page, "Result")
    expect(rows).to_have_count(5)
    trace = open_capture(CAPTURE)
    events = trace.on_device.nonzero()[0]
    longest = events[trace.duration_ps[events].argmax()]
    expect(rows.first).to_contain_text(trace.names[trace.name[longest]])
    expect(page.get_by_role("status").filter(has_text="5 rows")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Export CSV").click()
    path = tmp_path / "result.csv"
    download.value.save_as(path)
    with path.open(newline="") as file:
        table = list(csv.reader(file))
    assert table[0] == ["event", "name", "duration_ms"] and len(table) == 6
    assert float(table[1][2]) == pytest.approx(trace.duration_ps[longest] / 1e9)
    assert list_violations(page) == []
    rows.first.get_by_role("button").click()
    expect(page.get_by_role("complementary", name="Details")).to_contain_text(
        trace.names[trace.name[longest]]
    )
    page.go_back()
    expect(rows).to_have_count(5)


def test_errors_are_sentences_and_examples_run(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    open_tool(page, "Query")
    run_sql(page, "SELECT * FROM read_csv('/etc/passwd')")
    region = page.get_by_role("region", name="Result")
    expect(region).to_contain_text("files, URLs, extensions and other databases are disabled")
    examples = page.get_by_role("region", name="Examples").get_by_role("button")
    expect(examples).to_have_count(6)
    for at in range(6):
        examples.nth(at).click()
        expect(page.get_by_role("status").filter(has_text=re.compile("rows?$"))).to_be_visible()
        expect(region).not_to_contain_text("The query failed")
    assert not overflows(page)


def test_saved_queries_are_kept(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    open_tool(page, "Query")
    sql = "SELECT count(*) AS n, max(total_ms) AS ms FROM steps"
    page.get_by_role("textbox", name="SQL query").fill(sql)
    page.get_by_role("textbox", name="Name of the query").fill("steps")
    page.get_by_role("button", name="Save").click()
    saved = page.get_by_role("region", name="Saved queries")
    expect(saved.get_by_role("button", name="steps", exact=True)).to_be_visible()
    page.reload()
    saved.get_by_role("button", name="steps", exact=True).click()
    expect(table_rows(page, "Result")).to_have_count(1)
    expect(page).to_have_url(re.compile("p-sql="))
    saved.get_by_role("button", name="Delete query steps").click()
    expect(saved.get_by_role("button", name="steps", exact=True)).to_have_count(0)
