"""Graphs: functions, profiles, dropped files, errors, accessibility and static exports."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.analysis.graphs.graphdefs import add_function, call, graphdef
from tests.archives import extract
from tests.dashboards.graphs.graph_log import write_graph
from tests.web.conftest import board_fixture
from tests.web.graph_view import build_network, node, node_button, select_node, toggle_group
from tests.web.locators import click_retry
from tests.web.test_appearance import list_violations, overflows
from tests.web.test_static_board import copy
from tracklight.dashboards.graphs import RUN_GRAPH_TAG, make_graph_id
from tracklight.formats import proto
from tracklight.formats.proto import Message

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
CORPUS = Path(__file__).parents[1] / "data" / "corpus"


def build_calls() -> Message:
    """Build a call inside a scope, to a function that contains a scope."""
    nodes = {"x": [], "y": [], "net/call": ["x", "y"], "out": ["net/call"]}
    graph = graphdef(nodes, ops={"net/call": "StatefulPartitionedCall"})
    add_function(graph, "body", ["p", "q"], {"in/sum": ["p", "q"]}, {"r": "in/sum:z:0"})
    call(graph, 2, "f", "body")
    return graph


def write_graphs(folder: Path) -> None:
    """Write a network, a function call, and a TensorFlow 1 session with two profiles."""
    write_graph(folder, build_network(), "a_deep")
    write_graph(folder, build_calls(), "b_calls")
    extract(CORPUS / "legacy_v1.tar.xz", folder)


def write_empty_graphs(folder: Path) -> None:
    """Write two graphs without nodes, as ``tf.summary.graph`` does of an empty graph."""
    for run in ("a_eager", "b_eager"):
        write_graph(folder, proto.GraphDef(versions=proto.VersionDef(producer=1)), run)
    write_graph(folder, build_network(), "c_deep")


graph_board = board_fixture(write_graphs, "module", "?tab=graphs")
empty_board = board_fixture(write_empty_graphs, "module", "?tab=graphs")


def graph_query(run: str) -> str:
    return f"&graph={quote(make_graph_id(run, RUN_GRAPH_TAG, 'graphs'))}"


def details(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Details")


def test_function_body_expands_at_its_call(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{graph_board}{graph_query('b_calls')}&expanded=net")
    toggle_group(page, "net/call")
    for child in ("p", "q", "in", "r"):
        expect(node(page, f"net/call|body|{child}")).to_be_visible()
    expect(page.locator('[data-edge="x → net/call|body|p"]')).to_have_count(1)
    expect(page.locator('[data-edge="net/call|body|r → out"]')).to_have_count(1)
    toggle_group(page, "net/call|body|in")
    select_node(page, "net/call|body|in/sum")
    expect(details(page)).to_contain_text("net/call|body|in/sum")
    # A state with all groups collapsed survives a reload; the default is not restored.
    page.keyboard.press("c")
    expect(node_button(page, "net")).to_have_attribute("aria-expanded", "false")
    expect(page).to_have_url(re.compile("expanded=/(&|$)"))
    page.reload()
    expect(node_button(page, "net")).to_have_attribute("aria-expanded", "false")


def test_color_by_time_and_memory_of_a_profile(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(graph_board + graph_query("legacy_v1/session"))
    color_select, legend = page.get_by_label("Color by"), page.get_by_role("group", name="Legend")
    color_select.select_option("Compute time")
    expect(legend).to_contain_text("Compute time")
    expect(legend).to_contain_text(re.compile(r"\d ?(µs|ms)"))
    profile = page.get_by_role("combobox", name="Profile")
    expect(profile.get_by_role("option")).to_have_text(["step002", "step004"])
    before = legend.inner_text()
    profile.select_option("step004")
    expect(page).to_have_url(re.compile("profile=step004"))
    expect(legend).not_to_have_text(before)
    color_select.select_option("Memory")
    expect(legend).to_contain_text(re.compile(r"\d k?B"))
    color_select.select_option("Operation")
    expect(profile).to_have_count(0)


def drop_file(page: Page, name: str, content: bytes) -> None:
    """Drop a file onto the page."""
    files = page.evaluate_handle(
        """([name, text]) => {
            const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
            const files = new DataTransfer();
            files.items.add(new File([bytes], name));
            return files;
        }""",
        [name, base64.b64encode(content).decode()],
    )
    page.dispatch_event("body", "drop", {"dataTransfer": files})


def test_dropped_file_opens_and_large_file_is_rejected(
    graph_board: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(graph_board)
    expect(node(page, "net")).to_be_visible()
    drop_file(page, "mine.pb", build_network(blocks=1).SerializeToString())
    expect(page.get_by_role("button", name="Select a graph")).to_contain_text("mine.pb")
    expect(node(page, "net")).to_be_visible()
    with (tmp_path / "large.pb").open("wb") as file:
        file.truncate(300 * 2**20)
    page.get_by_label("Graph file").set_input_files(tmp_path / "large.pb")
    expect(page.get_by_role("dialog")).to_contain_text("The limit is 268 MB")
    assert list_violations(page) == []


def test_first_graph_with_nodes_is_opened(empty_board: str, open_page: OpenPage) -> None:
    page = open_page(empty_board)
    selector = page.get_by_role("button", name="Select a graph")
    expect(selector).to_contain_text("c_deep")
    expect(node(page, "net")).to_be_visible()
    skipped = "Skipped, as they have no nodes: a_eager · Run graph, b_eager · Run graph"
    expect(details(page)).to_contain_text(skipped)
    selector.click()
    options = page.get_by_role("option")
    expect(options.filter(has_text="a_eager")).to_contain_text("Empty")
    options.filter(has_text="a_eager").click()
    expect(page.get_by_text("This graph is empty")).to_be_visible()
    expect(details(page)).not_to_contain_text("Skipped")


def test_failed_requests_can_be_retried(graph_board: str, open_page: OpenPage) -> None:
    page = open_page("about:blank")
    failing = {"list", "groups"}

    def handle_route(route: Route) -> None:
        if route.request.url.split("?")[0].rpartition("/")[2] in failing:
            route.fulfill(status=500, json={"error": {"message": "It broke.", "hint": "Wait."}})
        else:
            route.continue_()

    page.route("**/api/v1/graphs/*", handle_route)
    page.goto(graph_board)
    for endpoint, loaded in (
        ("list", page.get_by_label("Select a graph")),
        ("groups", node(page, "net")),
    ):
        expect(page.get_by_role("main").get_by_text("It broke.")).to_be_visible()
        failing.remove(endpoint)
        click_retry(page)
        expect(loaded).to_be_visible()
    page.goto(f"{graph_board}&node=nowhere/at/all")
    expect(details(page)).to_contain_text("nowhere/at/all")


def test_no_accessibility_violations_and_fits_on_a_phone(
    graph_board: str, open_page: OpenPage
) -> None:
    page = open_page(f"{graph_board}&expanded=net&node=head&graph-search=op:AddV2")
    expect(details(page)).to_contain_text("head")
    expect(page.get_by_role("region", name="Search results")).to_contain_text("3 matches")
    assert list_violations(page) == []
    page.set_viewport_size({"width": 390, "height": 900})
    expect(node(page, "net")).to_be_visible()
    assert not overflows(page)
    assert list_violations(page) == []


def test_static_export_supports_search_colors_and_download(
    tmp_path: Path, open_page: OpenPage
) -> None:
    write_graph(tmp_path / "logs", build_network(), "a_deep")
    page = open_page(copy(tmp_path / "logs", tmp_path / "board.html", "tab=graphs&expanded=net"))
    toggle_group(page, "net/block_2")
    select_node(page, "net/block_2/add")
    expect(details(page)).to_contain_text("AddV2")
    page.get_by_role("searchbox", name="Search nodes").fill("op:AddV2")
    results = page.get_by_role("region", name="Search results")
    expect(results.get_by_role("status")).to_have_text("3 matches")
    page.get_by_label("Color by").select_option("Parameters")
    expect(page.get_by_role("group", name="Legend")).to_contain_text("Parameters")
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=re.compile("Export SVG")).click()
    assert "block_3" in download.value.path().read_text(encoding="utf-8")
