"""Mesh dashboard: accessibility, phones, missing WebGL, downloads and static export."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.web.cards import card, choose_menu_item
from tests.web.conftest import Serve, board_fixture
from tests.web.event_writer import append_records, loss_records
from tests.web.mesh_log import BLUE, FRONT_CAMERA, RED, drawn_mesh, read_pixel, write_mesh_log
from tests.web.test_appearance import list_violations, overflows
from tests.web.test_static_board import copy
from tests.web.waiting import wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


solids = board_fixture(write_mesh_log, "module", "?tab=mesh")


def test_invalid_meshes_have_no_accessibility_violations(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=odd")
    drawn_mesh(page, "odd/torn")
    assert list_violations(page) == []


def test_fits_phone_width(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube", width=390)
    drawn_mesh(page, "shape/cube", "second")
    assert not overflows(page)


def test_shows_message_without_webgl(solids: str, open_page: OpenPage) -> None:
    page = open_page("about:blank")
    page.add_init_script(
        """const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
          return kind.startsWith('webgl') ? null : get.call(this, kind, ...rest);
        };"""
    )
    page.goto(f"{solids}&tags=cube")
    expect(card(page, "shape/cube")).to_contain_text("WebGL 2 is not available in this browser")


def test_all_cards_share_one_webgl_context(solids: str, open_page: OpenPage) -> None:
    page = open_page("about:blank")
    page.add_init_script(
        """window.contexts = 0;
        const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
          window.contexts += kind.startsWith('webgl') ? 1 : 0;
          return get.call(this, kind, ...rest);
        };"""
    )
    page.goto(solids)
    drawn_mesh(page, "batch/pair")
    # One draws all cards; another is created to query the renderer, and released.
    wait_for_value(page, lambda: page.evaluate("window.contexts"), 2)


def test_saved_image_includes_background(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube{FRONT_CAMERA}", color_scheme="dark")
    drawn_mesh(page, "shape/cube").hover()
    button = card(page, "shape/cube").get_by_role("button", name="Export PNG of shape/cube")
    with page.expect_download() as saved:
        button.first.click()
    assert saved.value.suggested_filename == "shape_cube_first_20.png"
    content = Path(saved.value.path()).read_bytes()
    drawn = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    assert tuple(drawn[drawn.shape[0] // 2, drawn.shape[1] // 2]) == BLUE
    assert drawn[2, -2].max() < 60  # the background is dark


def test_downloads_mesh_as_ply_and_obj(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=grey")
    drawn_mesh(page, "shape/grey")
    for kind, magic in (("PLY", b"ply\n"), ("OBJ", b"v -1 -1 -1\n")):
        with page.expect_download() as saved:
            choose_menu_item(page, "shape/grey", f"Export {kind}")
        assert saved.value.suggested_filename == f"first-shape-grey-0.{kind.lower()}"
        assert Path(saved.value.path()).read_bytes().startswith(magic)


def test_shortcuts_work_and_are_listed(solids: str, open_page: OpenPage) -> None:
    page = open_page(f"{solids}&tags=cube")
    drawn_mesh(page, "shape/cube")
    for keys, parameter in (("a", "mesh-axes=1"), ("o", "mesh-overlay=1"), ("c", "sync-cameras=0")):
        page.keyboard.press(keys)
        expect(page).to_have_url(re.compile(parameter))
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Next draw mode")


def test_empty_state_shows_how_to_log_meshes(
    serve: Serve, open_page: OpenPage, logdir: Path
) -> None:
    append_records(logdir / "run", *loss_records("loss", range(3)))
    page = open_page(f"{serve(logdir).address}?tab=mesh")
    expect(page.get_by_role("main")).to_contain_text("summary.mesh")


def test_static_export_shows_meshes(tmp_path: Path, open_page: OpenPage) -> None:
    write_mesh_log(tmp_path / "logs")
    address = copy(tmp_path / "logs", tmp_path / "copy", "tab=mesh&tags=shape/cube")
    page = open_page(address)
    wait_for_value(page, lambda: read_pixel(drawn_mesh(page, "shape/cube")), BLUE)
    page.get_by_role("slider", name="Step of all cards").press("Home")
    wait_for_value(page, lambda: read_pixel(drawn_mesh(page, "shape/cube", "second")), RED)
    # Downloads need a server.
    page.get_by_role("button", name="More actions for shape/cube").click()
    expect(page.get_by_role("menuitem", name=re.compile("Export"))).to_have_count(0)
