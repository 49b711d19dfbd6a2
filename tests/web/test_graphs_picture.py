"""Graphs: expand and collapse scopes, keyboard navigation, pan and zoom, and export."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.dashboards.graphs.graph_log import X, write_graph
from tests.web.conftest import Serve, board_fixture
from tests.web.graph_view import (
    build_network,
    get_node_point,
    node,
    node_button,
    select_node,
    toggle_group,
    write_graph_log,
)
from tests.web.run_table import choose_from_menu
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
#: Longer than the page debounces the viewport in the URL.
VIEWPORT_PAUSE_MS = 700

graph_board = board_fixture(write_graph_log, "module", "?tab=graphs")


def get_center(locator: Locator) -> tuple[float, float]:
    return get_stable_box(locator).center


def canvas(page: Page) -> Locator:
    return page.get_by_role("application")


def test_scopes_expand_in_place_and_collapse(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{graph_board}&expanded=head")
    expect(node_button(page, "net")).to_have_attribute("aria-expanded", "false")
    expect(page.locator('[data-edge="images → net"]')).to_have_count(1)
    before = get_center(node(page, "images"))
    toggle_group(page, "net")
    for number in (1, 2, 3):
        expect(node(page, f"net/block_{number}")).to_be_visible()
    # Expanding a group does not move the group or the nodes above it.
    assert before[1] == pytest.approx(get_center(node(page, "images"))[1], abs=2)
    outer, inner = get_stable_box(node(page, "net")), get_stable_box(node(page, "net/block_2"))
    assert outer.y < inner.y and inner.y + inner.height < outer.y + outer.height
    toggle_group(page, "net/block_2")
    expect(node(page, "net/block_2/Relu")).to_be_visible()
    expect(page).to_have_url(re.compile(r"expanded=head,net,net/block_2"))
    # The skip connection: the block's input goes to both its product and its sum.
    for reader in ("MatMul", "add"):
        link = page.locator(f'[data-edge="net/block_1 → net/block_2/{reader}"]')
        expect(link).to_have_count(1)
    toggle_group(page, "net")
    expect(node(page, "net/block_2")).to_have_count(0)
    expect(page).to_have_url(re.compile("expanded=head&"))


def test_edges_show_shapes_and_control_edges_are_dashed(
    graph_board: str, open_page: OpenPage
) -> None:
    page = open_page(f"{graph_board}&expanded=head")
    expect(page.locator("svg text", has_text=f"?{X}32").first).to_be_visible()
    dashed = page.locator('[data-edge="images → head/Softmax"] path').first
    expect(dashed).to_have_attribute("stroke-dasharray", "4 4")
    plain = page.locator('[data-edge="head/MatMul → head/Softmax"] path').first
    expect(plain).not_to_have_attribute("stroke-dasharray", "4 4")
    x, y = get_node_point(node(page, "head/MatMul"))
    page.mouse.move(x, y + 6)
    tooltip = page.get_by_role("status", name="Hovered node or edge")
    expect(tooltip).to_contain_text("head/MatMul")
    expect(tooltip).to_contain_text(f"?{X}10")


def test_keys_follow_edges_and_expand_groups(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{graph_board}&expanded=head")
    select_node(page, "images")
    page.keyboard.press("ArrowDown")
    expect(node_button(page, "net")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(node(page, "net/block_1")).to_be_visible()
    page.keyboard.press("ArrowUp")
    expect(node_button(page, "images")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowDown")
    expect(node_button(page, "net/block_1")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowDown")
    expect(node_button(page, "net/block_2")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name="Details")).to_contain_text("Largest tensors")


def test_pan_zoom_fit_and_restore_from_url(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{graph_board}&expanded=net,net/block_1,net/block_2,net/block_3")
    select_node(page, "images")
    for _ in range(6):
        page.keyboard.press("+")
    expect(page.get_by_role("img", name="Minimap")).to_be_visible()
    page.keyboard.press("ArrowDown")  # the selected node scrolls into view
    expect(node(page, "net/block_1/MatMul")).to_be_in_viewport()
    first = get_center(node(page, "net/block_1/MatMul"))
    x, y = get_center(canvas(page))
    page.mouse.move(x - 300, y + 200)
    page.mouse.down()
    page.mouse.move(x - 240, y + 160, steps=4)
    page.mouse.up()
    moved = get_center(node(page, "net/block_1/MatMul"))
    assert moved == pytest.approx((first[0] + 60, first[1] - 40), abs=2)
    expect(page).to_have_url(re.compile("graph-viewport="))
    other = open_page(get_stable_url(page, VIEWPORT_PAUSE_MS))
    expect(node(other, "net/block_1/MatMul")).to_be_visible()
    expect(canvas(other)).to_have_attribute("aria-busy", "false")
    same_node = node(other, "net/block_1/MatMul")
    wait_for_value(other, lambda: get_center(same_node), pytest.approx(moved, abs=3))
    page.get_by_role("button", name="Fit to screen").click()
    expect(page.get_by_role("img", name="Minimap")).to_have_count(0)
    page.get_by_role("button", name="Left-to-right layout").click()
    expect(page).to_have_url(re.compile("direction=right"))
    expect(canvas(page)).to_have_attribute("aria-busy", "false")
    expect(page.get_by_role("button", name="Top-to-bottom layout")).to_be_visible()
    page.wait_for_function(
        """() => {
            const [a, b] = ['images', 'net'].map((id) =>
                document.querySelector(`[data-node="${id}"]`).getBoundingClientRect());
            return a.right <= b.left;
        }"""
    )


def test_fitted_graph_stays_fitted_when_the_canvas_shrinks(
    graph_board: str, open_page: OpenPage
) -> None:
    page = open_page(f"{graph_board}&expanded=net,net/block_1,net/block_2,net/block_3")
    expect(node(page, "net/block_1")).to_be_visible()
    page.get_by_role("button", name="Fit to screen").click()
    expect(node(page, "head")).to_be_in_viewport(ratio=1)
    page.set_viewport_size({"width": 1100, "height": 420})
    for name in ("images", "head"):
        expect(node(page, name)).to_be_in_viewport(ratio=1)


def test_large_scope_is_loaded_in_pages(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(graph_board)
    page.get_by_role("button", name="Select a graph").click()
    page.get_by_role("dialog").get_by_role("option", name=re.compile("c_many")).click()
    expect(page.locator("[data-node^='many/in']").first).to_be_visible()
    page.get_by_role("button", name="Fit to screen").click()
    canvas(page).focus()
    for _ in range(6):  # only nodes in the viewport are drawn
        page.keyboard.press("-")
    more_button = page.get_by_role("button", name="251 more nodes")
    expect(more_button).to_have_count(1)
    more_button.dispatch_event("click")
    expect(page.get_by_role("button", name="51 more nodes")).to_have_count(1)


def test_export_images_and_node_lists(
    graph_board: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(f"{graph_board}&expanded=net")
    expect(node(page, "net/block_1")).to_be_visible()
    downloads = {}
    for item in ("Export SVG", "Export PNG", "JSON", "DOT"):
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=re.compile(item)).click()
        download.value.save_as(tmp_path / "file")
        downloads[item] = (tmp_path / "file").read_bytes()
    svg = downloads["Export SVG"].decode()
    assert svg.startswith("<svg") and "block_3" in svg and "var(--" not in svg
    assert downloads["Export PNG"].startswith(b"\x89PNG")
    assert "net/block_1/Relu" in json.dumps(json.loads(downloads["JSON"]))
    assert downloads["DOT"].startswith(b"digraph")


def test_downloads_have_the_display_name_of_the_run(
    tmp_path: Path, serve: Serve, open_page: OpenPage
) -> None:
    write_graph(tmp_path / "log", build_network(blocks=1), "a/1")
    page = open_page(f"{serve(tmp_path / 'log').address}?tab=graphs")
    choose_from_menu(page, "a/1", "Rename")
    page.get_by_role("textbox", name="New name for a/1").fill("wide: 50%")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Select a graph")).to_contain_text("wide: 50%")
    names = []
    for item in ("Export SVG", "JSON", "DOT"):
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=re.compile(item)).click()
        names.append(download.value.suggested_filename)
    assert names == [f"wide_50_Run_graph.{kind}" for kind in ("svg", "json", "dot")]


def test_settings_of_a_model_are_not_custom_data(
    graph_board: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(graph_board)
    (tmp_path / "config.json").write_text('{"model_type": "bert", "hidden_size": 768}')
    page.get_by_label("Graph file").set_input_files(tmp_path / "config.json")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("the settings of a Hugging Face model (bert)")
    expect(dialog).to_contain_text("open the safetensors file beside it")


def test_open_local_file(graph_board: str, open_page: OpenPage, tmp_path: Path) -> None:
    page = open_page(graph_board)
    (tmp_path / "mine.pb").write_bytes(build_network(blocks=1).SerializeToString())
    page.get_by_label("Graph file").set_input_files(tmp_path / "mine.pb")
    expect(page.get_by_role("button", name="Select a graph")).to_contain_text("mine.pb")
    expect(node(page, "net")).to_be_visible()
    (tmp_path / "torn.pb").write_bytes(b"\xff\xfe nothing of the kind")
    page.get_by_label("Graph file").set_input_files(tmp_path / "torn.pb")
    expect(page.get_by_role("dialog")).to_contain_text("it ends too early")


def test_back_and_forward_restore_the_view(graph_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{graph_board}&expanded=head")
    images, net, block = (node(page, path) for path in ("images", "net", "net/block_1"))
    color_select = page.get_by_role("combobox", name="Color by")
    expect(color_select.get_by_role("option", name="Parameters")).to_have_count(1)
    default_color = color_select.input_value()
    expect(page).to_have_url(re.compile("graph-viewport="))
    get_stable_url(page, VIEWPORT_PAUSE_MS)
    at_first = get_center(images)
    select_node(page, "images")
    toggle_group(page, "net")
    color_select.select_option("Parameters")
    expect(page).to_have_url(re.compile("graph-color=parameters"))
    for _ in range(3):
        page.keyboard.press("+")
    canvas(page).focus()
    page.keyboard.press("+")
    get_stable_url(page, VIEWPORT_PAUSE_MS)
    zoomed = get_center(images)
    assert zoomed != pytest.approx(at_first, abs=3)

    page.go_back()  # before the color
    expect(color_select).to_have_value(default_color)
    expect(net.get_by_role("button")).to_have_attribute("aria-expanded", "true")
    page.go_back()  # before the group; the double click selected it first
    expect(net.get_by_role("button")).to_have_attribute("aria-expanded", "false")
    expect(block).to_have_count(0)
    while "node=images" not in page.url:
        page.go_back()
    expect(images.get_by_role("button")).to_have_attribute("aria-pressed", "true")
    page.go_back()  # before the selection
    expect(images.get_by_role("button")).to_have_attribute("aria-pressed", "false")
    wait_for_value(page, lambda: get_center(images), pytest.approx(at_first, abs=3))

    for _ in range(10):
        page.go_forward()
    expect(block).to_be_visible()
    expect(color_select).to_have_value("Parameters")
    wait_for_value(page, lambda: get_center(images), pytest.approx(zoomed, abs=3))


def test_search_ends_with_the_graph_and_enter_selects_matches(
    graph_board: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(graph_board)
    search = page.get_by_role("searchbox", name="Search nodes")
    search.fill("op:Relu")
    results = page.get_by_role("region", name="Search results")
    expect(results).to_contain_text("net/block_1/Relu")
    search.press("Enter")
    expect(page).to_have_url(re.compile(r"node=net(%2F|/)block_1(%2F|/)Relu"))
    expect(node_button(page, "net/block_1/Relu")).to_have_attribute("aria-pressed", "true")
    search.press("Enter")
    expect(node_button(page, "net/block_2/Relu")).to_have_attribute("aria-pressed", "true")
    (tmp_path / "other.pb").write_bytes(build_network(blocks=1).SerializeToString())
    page.get_by_label("Graph file").set_input_files(tmp_path / "other.pb")
    expect(page.get_by_role("button", name="Select a graph")).to_contain_text("other.pb")
    expect(search).to_have_value("")
