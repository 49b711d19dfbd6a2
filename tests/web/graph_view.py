"""Graphs with known nodes, and locators and actions of the Graphs dashboard."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.dashboards.graphs.graph_log import write_graph
from tests.web.waiting import get_stable_box
from tracklight.cli.demo.writers import BATCH, GraphBuilder
from tracklight.formats.proto import Message


def build_network(*, width: int = 64, blocks: int = 3) -> Message:
    """Build blocks with skip connections, a head, and a control edge from input to head."""
    builder = GraphBuilder()
    flow = builder.add("images", "Placeholder", shape=(BATCH, 32))
    for number in range(1, blocks + 1):
        flow = _add_block(builder, f"net/block_{number}", flow, width)
    weights = builder.add_variable("head/kernel", (width, 10))
    logits = builder.add("head/MatMul", "MatMul", [flow, weights], (BATCH, 10))
    builder.add("head/Softmax", "Softmax", [logits, "^images"], (BATCH, 10))
    return builder.graph()


def _add_block(builder: GraphBuilder, scope: str, flow: str, width: int) -> str:
    weights = builder.add_variable(f"{scope}/kernel", (width, width))
    product = builder.add(f"{scope}/MatMul", "MatMul", [flow, weights], (BATCH, width))
    active = builder.add(f"{scope}/Relu", "Relu", [product], (BATCH, width))
    return builder.add(f"{scope}/add", "AddV2", [active, flow], (BATCH, width))


def build_large_scope(count: int) -> Message:
    """Build one scope with more nodes than are shown at once, all inputs of one node."""
    builder = GraphBuilder()
    names = [builder.add(f"many/in{box}x", "Placeholder", shape=(2,)) for box in range(count)]
    builder.add("many/all", "AddN", names, (2,))
    return builder.graph()


def write_graph_log(folder: Path) -> None:
    """Write a network, a wider variant with one block less, and a scope with many nodes."""
    write_graph(folder, build_network(), "a_deep")
    write_graph(folder, build_network(width=96, blocks=2), "b_wide")
    write_graph(folder, build_large_scope(450), "c_many")


def node(page: Page, path: str) -> Locator:
    """Return a node of the graph."""
    return page.locator(f'[data-node="{path}"]')


def node_button(page: Page, path: str) -> Locator:
    """Return the button of a node, which tells whether it is expanded or selected."""
    return node(page, path).get_by_role("button")


def get_node_point(locator: Locator) -> tuple[float, float]:
    """Return the screen position of a node's center, or of an expanded group's title."""
    expect(locator).to_be_visible()
    box = get_stable_box(locator)
    return box.center[0], box.y + min(box.height / 2, 12)


def select_node(page: Page, path: str) -> None:
    page.mouse.click(*get_node_point(node(page, path)))
    expect(node_button(page, path)).to_have_attribute("aria-pressed", "true")


def toggle_group(page: Page, path: str) -> None:
    """Expand or collapse a group."""
    button = node_button(page, path)
    before = button.get_attribute("aria-expanded")
    page.mouse.dblclick(*get_node_point(button))
    expect(button).to_have_attribute("aria-expanded", "false" if before == "true" else "true")
    expect(page.get_by_role("application")).to_have_attribute("aria-busy", "false")
