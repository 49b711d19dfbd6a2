"""Graphs: auxiliary nodes are beside the main graph, and a click moves them into it and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.dashboards.graphs.graph_log import write_graph
from tests.web.conftest import board_fixture
from tests.web.graph_view import get_node_point, node, select_node
from tracklight.cli.demo.writers import BATCH, GraphBuilder
from tracklight.formats.proto import Message

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
BRANCHES = [f"branch_{letter}" for letter in "abcdefghijkl"]


def build_branches() -> Message:
    """Build branches of one node that are joined again; all read a global step and a constant."""
    builder = GraphBuilder()
    images = builder.add("images", "Placeholder", shape=(BATCH, 8))
    stem = builder.add("stem", "Relu", [images], (BATCH, 8))
    step = builder.add("global_step", "ReadCounter", shape=())
    rate = builder.add("rate", "Const", shape=())
    branches = [builder.add(name, "Dropout", [stem, step, rate], (BATCH, 8)) for name in BRANCHES]
    joined = builder.add("joined", "AddN", branches, (BATCH, 8))
    builder.add("output", "Softmax", [joined], (BATCH, 8))
    return builder.graph()


def write_log(folder: Path) -> None:
    write_graph(folder, build_branches())


branches_board = board_fixture(write_log, "module", "?tab=graphs")


def edge(page: Page, source: str, target: str) -> Locator:
    return page.locator(f'[data-edge="{source} → {target}"]')


def auxiliary_box(page: Page) -> Locator:
    return page.get_by_role("application").get_by_role(
        "button", name=re.compile("2 auxiliary nodes")
    )


def test_path_from_input_to_output_is_complete(branches_board: str, open_page: OpenPage) -> None:
    page = open_page(branches_board)
    expect(edge(page, "images", "stem")).to_have_count(1)
    for name in BRANCHES:
        expect(edge(page, "stem", name)).to_have_count(1)
        expect(edge(page, name, "joined")).to_have_count(1)
        expect(node(page, name).locator(".stub")).to_have_count(1)
    expect(edge(page, "joined", "output")).to_have_count(1)
    expect(node(page, "global_step")).to_have_count(0)


def test_one_click_moves_auxiliary_nodes_into_the_graph_and_back(
    branches_board: str, open_page: OpenPage
) -> None:
    page = open_page(branches_board)
    box = auxiliary_box(page)
    expect(box).to_have_accessible_name(re.compile("1 high-degree node"))
    page.mouse.click(*get_node_point(box))
    expect(box).to_have_accessible_name(re.compile("^Hide 2 auxiliary nodes"))
    for name in BRANCHES:
        expect(edge(page, "global_step", name)).to_have_count(1)
        expect(edge(page, "rate", name)).to_have_count(1)
        expect(node(page, name).locator(".stub")).to_have_count(0)
    expect(page).to_have_url(re.compile("show-auxiliary="))
    select_node(page, "global_step")
    expect(page.get_by_role("button", name="Add to main graph")).to_have_count(0)
    page.mouse.click(*get_node_point(box))
    expect(node(page, "global_step")).to_have_count(0)
    expect(node(page, BRANCHES[0]).locator(".stub")).to_have_count(1)
    page.go_back()
    expect(edge(page, "global_step", BRANCHES[0])).to_have_count(1)
