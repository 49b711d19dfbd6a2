"""Graphs are opened scope by scope, walked through, moved about and taken away."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.dashboards.graphs.graph_log import X
from tests.web.conftest import board_fixture
from tests.web.graph_view import (
    build_network,
    get_node_point,
    node,
    select_node,
    toggle_group,
    write_graph_log,
)
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_value

pytestmark = [pytest.mark.browser, pytest.mark.smoke]

OpenPage = Callable[..., Page]
#: Longer than a picture rests before the address says where it lies.
VIEW_MS = 700

blueprints = board_fixture(write_graph_log, "module", "?tab=graphs")


def middle(found: Locator) -> tuple[float, float]:
    return get_stable_box(found).center


def canvas(page: Page) -> Locator:
    return page.get_by_role("application")


def test_scopes_open_in_place_and_close_again(blueprints: str, open_page: OpenPage) -> None:
    page = open_page(f"{blueprints}&open=head")
    expect(node(page, "net")).to_have_attribute("aria-expanded", "false")
    expect(page.locator('[data-link="images → net"]')).to_have_count(1)
    above = middle(node(page, "images"))
    toggle_group(page, "net")
    for number in (1, 2, 3):
        expect(node(page, f"net/block_{number}")).to_be_visible()
    # The group stays where it was opened, and so does what is above it.
    assert above[1] == pytest.approx(middle(node(page, "images"))[1], abs=2)
    outer, inner = get_stable_box(node(page, "net")), get_stable_box(node(page, "net/block_2"))
    assert outer.y < inner.y and inner.y + inner.height < outer.y + outer.height
    toggle_group(page, "net/block_2")
    expect(node(page, "net/block_2/Relu")).to_be_visible()
    expect(page).to_have_url(re.compile(r"open=head,net,net/block_2"))
    # The skip connection: what enters the block is read by its product and by its sum.
    for reader in ("MatMul", "add"):
        link = page.locator(f'[data-link="net/block_1 → net/block_2/{reader}"]')
        expect(link).to_have_count(1)
    toggle_group(page, "net")
    expect(node(page, "net/block_2")).to_have_count(0)
    expect(page).to_have_url(re.compile("open=head&"))


def test_links_tell_what_flows_and_control_is_dashed(blueprints: str, open_page: OpenPage) -> None:
    page = open_page(f"{blueprints}&open=head")
    expect(page.locator("svg text", has_text=f"?{X}32").first).to_be_visible()
    dashed = page.locator('[data-link="images → head/Softmax"] path').first
    expect(dashed).to_have_attribute("stroke-dasharray", "4 4")
    plain = page.locator('[data-link="head/MatMul → head/Softmax"] path').first
    expect(plain).not_to_have_attribute("stroke-dasharray", "4 4")
    x, y = get_node_point(node(page, "head/MatMul"))
    page.mouse.move(x, y + 6)
    tip = page.get_by_role("status", name="What is under the pointer")
    expect(tip).to_contain_text("head/MatMul")
    expect(tip).to_contain_text(f"?{X}10")


def test_keys_walk_along_links_and_open_groups(blueprints: str, open_page: OpenPage) -> None:
    page = open_page(f"{blueprints}&open=head")
    select_node(page, "images")
    page.keyboard.press("ArrowDown")
    expect(node(page, "net")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    expect(node(page, "net/block_1")).to_be_visible()
    page.keyboard.press("ArrowUp")
    expect(node(page, "images")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowDown")
    expect(node(page, "net/block_1")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowDown")
    expect(node(page, "net/block_2")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name="Details")).to_contain_text("Largest tensors")


def test_it_is_moved_zoomed_and_fitted_and_a_link_shows_the_same(
    blueprints: str, open_page: OpenPage
) -> None:
    page = open_page(f"{blueprints}&open=net,net/block_1,net/block_2,net/block_3")
    select_node(page, "images")
    for _ in range(6):
        page.keyboard.press("+")
    expect(page.get_by_role("img", name="Map of the whole graph")).to_be_visible()
    page.keyboard.press("ArrowDown")  # what is chosen is brought to where it can be seen
    expect(node(page, "net/block_1/MatMul")).to_be_in_viewport()
    first = middle(node(page, "net/block_1/MatMul"))
    x, y = middle(canvas(page))
    page.mouse.move(x - 300, y + 200)
    page.mouse.down()
    page.mouse.move(x - 240, y + 160, steps=4)
    page.mouse.up()
    moved = middle(node(page, "net/block_1/MatMul"))
    assert moved == pytest.approx((first[0] + 60, first[1] - 40), abs=2)
    expect(page).to_have_url(re.compile("look="))
    other = open_page(get_stable_url(page, VIEW_MS))
    expect(node(other, "net/block_1/MatMul")).to_be_visible()
    expect(canvas(other)).to_have_attribute("aria-busy", "false")
    there = node(other, "net/block_1/MatMul")
    wait_for_value(other, lambda: middle(there), pytest.approx(moved, abs=3))
    page.get_by_role("button", name="Fit to the screen").click()
    expect(page.get_by_role("img", name="Map of the whole graph")).to_have_count(0)
    page.get_by_role("button", name="Let it flow to the right").click()
    expect(page).to_have_url(re.compile("flow=right"))
    expect(canvas(page)).to_have_attribute("aria-busy", "false")
    expect(page.get_by_role("button", name="Let it flow downwards")).to_be_visible()
    page.wait_for_function(
        """() => {
            const [a, b] = ['images', 'net'].map((id) =>
                document.querySelector(`[data-node="${id}"]`).getBoundingClientRect());
            return a.right <= b.left;
        }"""
    )


def test_a_crowd_is_shown_in_parts(blueprints: str, open_page: OpenPage) -> None:
    page = open_page(blueprints)
    page.get_by_role("button", name="Choose a graph").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("c_many")).click()
    expect(node(page, "many/in0x")).to_be_visible()
    page.get_by_role("button", name="Fit to the screen").click()
    canvas(page).focus()
    for _ in range(6):  # only what is on the screen is drawn, and more is to come
        page.keyboard.press("-")
    rest = page.get_by_role("button", name="and 251 more")
    expect(rest).to_have_count(1)
    rest.dispatch_event("click")
    expect(page.get_by_role("button", name="and 51 more")).to_have_count(1)


def test_pictures_and_files_can_be_taken_away(
    blueprints: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(f"{blueprints}&open=net")
    expect(node(page, "net/block_1")).to_be_visible()
    taken = {}
    for item in ("Picture as SVG", "Picture as PNG", "All nodes as JSON", "All nodes as DOT"):
        page.get_by_role("button", name="Download").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name=re.compile(item)).click()
        download.value.save_as(tmp_path / "file")
        taken[item] = (tmp_path / "file").read_bytes()
    svg = taken["Picture as SVG"].decode()
    assert svg.startswith("<svg") and "block_3" in svg and "var(--" not in svg
    assert taken["Picture as PNG"].startswith(b"\x89PNG")
    assert "net/block_1/Relu" in json.dumps(json.loads(taken["All nodes as JSON"]))
    assert taken["All nodes as DOT"].startswith(b"digraph")


def test_a_file_of_the_users_is_looked_at(
    blueprints: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(blueprints)
    (tmp_path / "mine.pb").write_bytes(build_network(blocks=1).SerializeToString())
    page.get_by_label("File of a graph").set_input_files(tmp_path / "mine.pb")
    expect(page.get_by_role("button", name="Choose a graph")).to_contain_text("mine.pb")
    expect(node(page, "net")).to_be_visible()
    (tmp_path / "torn.pb").write_bytes(b"\xff\xfe nothing of the kind")
    page.get_by_label("File of a graph").set_input_files(tmp_path / "torn.pb")
    expect(page.get_by_role("dialog")).to_contain_text("cannot be shown: it ends too early")
