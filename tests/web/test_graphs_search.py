"""Graphs: search, details, tracing, colors and comparison of two graphs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.dashboards.graphs.graph_log import X, write_graph
from tests.web.conftest import board_fixture
from tests.web.graph_view import node, node_button, select_node, write_graph_log
from tests.web.waiting import get_stable_url, wait_for_condition

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]

graph_board = board_fixture(write_graph_log, "module", "?tab=graphs")
TRAIN_STEP = Path(__file__).parents[1] / "data/graphs/keras3_train_step.pb"
train_step_board = board_fixture(
    lambda log: write_graph(log, TRAIN_STEP.read_bytes()), "module", "?tab=graphs"
)


def details(page: Page) -> Locator:
    return page.get_by_role("complementary", name="Details")


def get_dimmed_nodes(page: Page) -> set[str]:
    """Return the paths of dimmed nodes."""
    paths = page.locator("[data-dimmed]").evaluate_all(
        "nodes => nodes.map((node) => node.dataset.node)"
    )
    return set(paths)


def test_search_finds_nodes_in_collapsed_scopes(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(graph_board)
    page.get_by_role("searchbox", name="Search nodes").fill("op:AddV2")
    results = page.get_by_role("region", name="Search results")
    expect(results.get_by_role("status")).to_have_text("3 matches")
    results.get_by_role("button", name="net/block_2/add").click()
    expect(node_button(page, "net/block_2/add")).to_have_attribute("aria-pressed", "true")
    expect(page).to_have_url(re.compile("expanded=net,net/block_2"))
    expect(details(page)).to_contain_text("AddV2")
    expect(details(page)).to_contain_text(f"float32 ?{X}64")
    page.get_by_role("searchbox", name="Search nodes").fill("nowhere")
    expect(results.get_by_role("status")).to_have_text("No matches for “nowhere”")


def test_graph_details_link_to_largest_tensors(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(graph_board)
    # Parameters: three 64 x 64 kernels and one of 64 x 10.
    expect(details(page)).to_contain_text("12,928")
    largest = details(page).get_by_role("region", name="Largest tensors")
    largest.get_by_role("button").first.click()
    expect(details(page)).to_contain_text(f"64{X}64")
    expect(page).to_have_url(re.compile(r"node=net/block_\d/kernel"))
    inputs = details(page).get_by_role("region", name=re.compile("Outputs"))
    inputs.get_by_role("button").first.click()
    expect(page).to_have_url(re.compile("node=.*(Read|MatMul)"))


def test_skip_connections_and_shape_mismatches_are_listed(
    graph_board: str, open_page: OpenPage
) -> None:
    page = open_page(graph_board)
    skips = details(page).get_by_role("region", name="Skip connections (2)")
    expect(skips).to_contain_text("From net/block_1/add, skips 2 nodes")
    mismatches = details(page).get_by_role("region", name="Shape issues (2)")
    expect(mismatches).to_contain_text(f"?{X}32 times 64{X}64: 32 is not 64")
    # The collapsed group shows the warning; once it is expanded, the node does.
    expect(node(page, "net/block_1")).to_have_attribute("data-shape-issue", "true")
    mismatches.get_by_role("button", name="net/block_1/add").click()
    expect(node(page, "net/block_1/add")).to_have_attribute("data-shape-issue", "true")
    expect(node(page, "net/block_1")).not_to_have_attribute("data-shape-issue", "true")
    page.keyboard.press("Escape")
    skips.get_by_role("button", name="net/block_3/add").click()
    expect(node_button(page, "net/block_3/add")).to_have_attribute("aria-pressed", "true")


def test_trace_dims_unrelated_nodes(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{graph_board}&expanded=net,net/block_2")
    select_node(page, "net/block_2/Relu")
    trace = page.get_by_role("group", name="Trace")
    trace.get_by_role("button", name="Inputs").click()
    expect(node(page, "head")).to_have_attribute("data-dimmed", "true")
    wait_for_condition(page, lambda: {"net/block_3", "net/block_2/add"} <= get_dimmed_nodes(page))
    assert not {"images", "net/block_1", "net/block_2/MatMul"} & get_dimmed_nodes(page)
    highlighted = page.locator('[data-edge="net/block_2/MatMul → net/block_2/Relu"]')
    expect(highlighted).to_have_attribute("data-highlighted", "true")
    trace.get_by_role("button", name="Outputs").click()
    expect(node(page, "images")).to_have_attribute("data-dimmed", "true")
    wait_for_condition(
        page, lambda: not {"net/block_3", "head", "net/block_2/add"} & get_dimmed_nodes(page)
    )
    page.keyboard.press("Escape")
    expect(page.locator("[data-dimmed]")).to_have_count(0)


def test_shortest_path_uses_skip_connections(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{graph_board}&expanded=net&node=images")
    page.get_by_role("button", name="Shortest path from here").click()
    select_node(page, "net/block_3")
    steps = page.get_by_role("list", name="Shortest path").get_by_role("button")
    expect(steps.first).to_have_text("images")
    expect(steps.nth(1)).to_have_text("net/block_1/add")
    expect(steps.nth(2)).to_have_text("net/block_2/add")
    expect(steps).to_have_count(4)


def test_color_options_and_legends(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{graph_board}&expanded=net")
    color_select = page.get_by_role("combobox", name="Color by")
    expect(color_select.get_by_role("option", name="Parameters")).to_have_count(1)
    expect(color_select.get_by_role("option", name="Compute time")).to_have_count(0)
    # Blocks with the same structure have the same color.
    color_select.select_option("Structure")
    wait_for_condition(page, lambda: get_fill(page, "net/block_2") == get_fill(page, "net/block_3"))
    wait_for_condition(page, lambda: get_fill(page, "net/block_2") != get_fill(page, "images"))
    color_select.select_option("Operation")
    legend = page.get_by_role("group", name="Legend")
    expect(legend).to_contain_text("MatMul (4)")
    color_select.select_option("Parameters")
    expect(legend).to_contain_text("Parameters")
    expect(page).to_have_url(re.compile("graph-color=parameters"))
    near_white = re.compile(r"rgb\((2[45]\d, ?){2}2[45]\d\)")
    expect(node(page, "images").locator("rect").first).to_have_attribute("fill", near_white)
    expect(node(page, "net/block_1").locator("rect").first).not_to_have_attribute(
        "fill", near_white
    )


def get_fill(page: Page, path: str) -> str | None:
    return node(page, path).locator("rect").first.get_attribute("fill")


def test_compare_two_graphs(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{graph_board}&expanded=net")
    page.get_by_role("button", name="Compare with another graph").click()
    page.get_by_role("dialog").get_by_role("option", name=re.compile("b_wide")).click()
    summary = details(page).get_by_role("region", name="Differences")
    expect(summary).to_contain_text("a_deep vs. b_wide")
    expect(summary).to_contain_text("Removed")
    expect(page.get_by_role("combobox", name="Color by")).to_have_value("Change")
    expect(node_button(page, "net/block_3")).to_have_accessible_name(re.compile("Removed$"))
    expect(node_button(page, "net/block_1")).to_have_accessible_name(re.compile("Changed$"))
    # Edges are compared as well: a removed edge, and a changed shape on one that remains.
    removed_edge = page.locator('[data-edge="net/block_3 → head"]')
    expect(removed_edge).to_have_attribute("data-change", "removed")
    expect(removed_edge.locator("path").first).to_have_attribute("stroke", "#c0262d")
    expect(page.locator('[data-edge="net/block_2 → head"]')).to_have_attribute(
        "data-change", "added"
    )
    edges = details(page).get_by_role("region", name=re.compile("Changed edges"))
    widened_edge = edges.get_by_role("button").filter(
        has_text=re.compile("^MatMul → Relu.*net/block_1$")
    )
    edges.get_by_role("button", name=re.compile(r"Show all \d+")).click()
    expect(widened_edge).to_contain_text(f"float32 ?{X}64 → float32 ?{X}96")
    widened_edge.click()
    expect(page).to_have_url(re.compile("node=net/block_1/Relu"))
    inputs = details(page).get_by_role("region", name=re.compile("Inputs"))
    expect(inputs).to_contain_text(f"float32 ?{X}96 (was float32 ?{X}64)")
    page.goto(get_stable_url(page).replace("node=net/block_1/Relu", "node=head/MatMul"))
    expect(details(page).locator("del").first).to_be_visible()


def search(page: Page, query: str) -> Locator:
    """Search for nodes and return the results."""
    page.get_by_role("searchbox", name="Search nodes").fill(query)
    results = page.get_by_role("region", name="Search results")
    expect(results.get_by_role("status")).to_have_text(re.compile(r"match"))
    return results.get_by_role("button")


def test_train_step_shows_the_model(train_step_board: str, open_page: OpenPage) -> None:
    page = open_page(train_step_board)
    call = page.locator('[data-node="StatefulPartitionedCall"]')
    expect(call.get_by_role("button")).to_have_attribute("aria-expanded", "true")
    for layer in ("sequential_1", "compile_loss", "gradient_tape", "adam"):
        expect(page.locator(f'[data-node$="|{layer}"]')).to_be_visible()
    placeholders = page.locator("[data-node]").filter(has_text="Placeholder")
    expect(placeholders).to_have_count(0)


@pytest.mark.parametrize("query", ["op:MatMul", "op:NoOp", "op:Placeholder", "op:Const adam"])
def test_every_search_result_can_be_shown(
    train_step_board: str, open_page: OpenPage, query: str
) -> None:
    # All groups are collapsed; no-ops, constants and variable handles are auxiliary nodes.
    page = open_page(f"{train_step_board}&expanded=/")
    hit = search(page, query).first
    path = hit.get_attribute("title")
    hit.click()
    shown_node = page.locator(f'[data-node="{path}"]')
    expect(shown_node.get_by_role("button")).to_have_attribute("aria-pressed", "true")
    expect(shown_node).to_be_in_viewport()
    expect(page.get_by_role("button", name="Show in graph")).to_have_count(0)


def test_search_result_that_is_not_loaded_can_be_shown(
    graph_board: str, open_page: OpenPage
) -> None:
    page = open_page(graph_board)
    page.get_by_role("button", name="Select a graph").click()
    page.get_by_role("dialog").get_by_role("option", name=re.compile("c_many")).click()
    expect(node_button(page, "many")).to_have_attribute("aria-expanded", "true")
    expect(node(page, "many/in449x")).to_have_count(0)
    search(page, "in449x").first.click()
    expect(node_button(page, "many/in449x")).to_have_attribute("aria-pressed", "true")
    expect(node(page, "many/in449x")).to_be_in_viewport()
