"""Graphs: data of nodes from a file as colors, two columns compared, and the drawing for print."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import board_fixture
from tests.web.graph_view import node, select_node, write_graph_log
from tracklight.formats import proto
from tracklight.formats.tensor import encode_tensor
from tracklight.torch import SummaryWriter

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


def write_scalar_log(folder: Path) -> None:
    with SummaryWriter(folder / "train") as writer:
        writer.add_scalar("loss", 1.0, 0)


graph_board = board_fixture(write_graph_log, "module", "?tab=graphs")
scalar_board = board_fixture(write_scalar_log, "module", "?tab=graphs")

TABLE = """node,float ms,int8 ms
images,1,1
head/MatMul,4,9
head/Softmax,2,1
lost,1,1
"""
#: Texts may be this much wider than measured, as other programs have other fonts.
TOLERANCE_PX = 1


def upload(page: Page, path: Path, text: str) -> None:
    path.write_text(text)
    page.get_by_label("Graph file").set_input_files(path)


def test_a_model_opens_in_a_log_without_graphs(
    scalar_board: str, open_page: OpenPage, tmp_path: Path
) -> None:
    message = proto.GraphDef()
    attribute = message.node.add(name=b"labels", op=b"Const").attr.add(key=b"value")
    attribute.value.tensor.CopyFrom(encode_tensor(["cat", "dog"]))
    (tmp_path / "labels.pb").write_bytes(message.SerializeToString())
    page = open_page(scalar_board)
    expect(page.get_by_text("No graphs yet")).to_be_visible()
    page.get_by_label("Graph file").set_input_files(tmp_path / "labels.pb")
    largest = page.get_by_role("region", name="Largest tensors (1)")
    largest.get_by_role("button", name="labels").click()
    # A constant of texts has no statistics, and its texts are not hidden.
    weights = page.get_by_role("region", name="Weights")
    expect(weights).to_contain_text("['cat', 'dog']")
    expect(weights).not_to_contain_text("Min")


def test_nodes_are_colored_by_a_file_and_two_columns_compared(
    graph_board: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(f"{graph_board}&expanded=head")
    expect(node(page, "head/MatMul")).to_be_visible()
    upload(page, tmp_path / "latency.csv", TABLE)
    panel = page.get_by_role("region", name="Custom data")
    expect(panel.get_by_role("status").first).to_have_text("3 nodes have a value")
    expect(panel).to_contain_text("1 name is not in this graph: lost")
    expect(page.get_by_role("group", name="Legend")).to_contain_text("4")
    panel.get_by_label("Values").select_option("latency.csv · int8 ms")
    panel.get_by_label("Compare with").select_option("latency.csv · float ms")
    # The legend is symmetric around 0, and says what is subtracted.
    legend = page.get_by_role("group", name="Legend")
    expect(legend).to_contain_text("\N{MINUS SIGN}5")
    names = "latency.csv · int8 ms \N{MINUS SIGN} latency.csv · float ms"
    expect(legend).to_contain_text(names)
    largest = page.get_by_role("region", name="Largest differences (3)")
    expect(largest.get_by_role("button").first).to_contain_text("4 → 9")
    fills = {path: get_fill(page, path) for path in ("images", "head/MatMul", "head/Softmax")}
    assert len(set(fills.values())) == 3
    select_node(page, "head/MatMul")
    details = page.get_by_role("region", name="head/MatMul")
    expect(details).to_contain_text(re.compile(r"int8 ms\s*9"))
    expect(details).to_contain_text(re.compile(r"Difference\s*5"))
    # A graph without these nodes has no values, so there is no range either.
    other = proto.GraphDef()
    other.node.add(name=b"another", op=b"Relu")
    (tmp_path / "another.pb").write_bytes(other.SerializeToString())
    page.get_by_label("Graph file").set_input_files(tmp_path / "another.pb")
    expect(node(page, "another")).to_be_visible()
    expect(panel.get_by_role("status").first).to_have_text("0 nodes have a value")
    expect(legend).to_be_hidden()


def get_fill(page: Page, path: str) -> str | None:
    return node(page, path).locator("rect").first.get_attribute("fill")


def test_the_drawing_for_print_is_complete_and_needs_no_page(
    graph_board: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(f"{graph_board}&expanded=net,head&graph-color=parameters")
    expect(node(page, "head/MatMul")).to_be_visible()
    expect(page.get_by_role("group", name="Legend")).to_be_visible()
    shown = page.locator("[data-node]").count()
    page.get_by_role("button", name="Export", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export SVG").click()
    path = tmp_path / "graph.svg"
    download.value.save_as(path)
    svg = path.read_text()
    tree = ElementTree.fromstring(svg)
    # Shapes and texts only: nothing from the page, no bitmaps, no HTML.
    names = {element.tag.rpartition("}")[2] for element in tree.iter()}
    allowed = {"svg", "title", "g", "rect", "path", "text", "tspan", "circle"}
    assert names <= allowed | {"defs", "linearGradient", "stop"}
    assert "var(--" not in svg and "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert len([element for element in tree.iter() if "data-node" in element.attrib]) == shown
    assert "linearGradient" in names
    # Opened alone, everything is inside the page and names are inside their boxes.
    page.goto(path.as_uri())
    outside = page.evaluate(
        """(tolerance) => {
          const view = document.documentElement.getBoundingClientRect();
          const isInside = (box, frame) => box.left >= frame.left - tolerance &&
            box.right <= frame.right + tolerance && box.top >= frame.top - tolerance &&
            box.bottom <= frame.bottom + tolerance;
          const texts = [...document.querySelectorAll('text')];
          return texts.filter((text) => {
            const node = text.closest('[data-node]');
            const box = text.getBoundingClientRect();
            const frame = node ? node.querySelector('rect').getBoundingClientRect() : view;
            return !isInside(box, frame) || !isInside(box, view);
          }).map((text) => text.textContent);
        }""",
        TOLERANCE_PX,
    )
    assert outside == []
