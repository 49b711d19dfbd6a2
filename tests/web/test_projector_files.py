"""Projector files: uploads with labels and sprites, live changes, and invalid files."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve, board_fixture
from tests.web.embedding_log import (
    POINT_COUNT,
    combobox,
    count_pixels,
    drawn_points,
    format_labels,
    make_vectors,
    panel,
    point_search,
    select_embedding,
    write_sprite,
    write_vectors,
)
from tests.web.test_appearance import overflows
from tests.web.waiting import wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]

MANY = 1100
RED, GREEN = (230, 20, 20), (20, 200, 20)

#: The message for each embedding; some are shown nevertheless.
MESSAGES = {
    "holes": "Left out 2 of 41 vectors with NaN or infinity",
    "small": "No images: the sprite image of 16 x 16 pixels",
    "uneven": "9 rows of labels do not have 3 cells",
    "ragged": "line 2 has 3 tab-separated cells instead of 2.",
    "alone": '"alone" is not a matrix with at least 2 rows and 2 columns',
    "thin": "is not a matrix with at least 2 rows and 2 columns",
    "cut": "which may be incomplete.",
    "begun": "If it is still being written, try again later.",
}


def write_invalid_files(logdir: Path) -> None:
    """Write every kind of invalid vectors, and one valid embedding."""
    logdir.mkdir()
    vectors = make_vectors().astype("f4")
    np.save(logdir / "right.npy", vectors)
    holes = vectors.copy()
    holes[3, 1], holes[9] = np.nan, np.inf
    np.save(logdir / "holes.npy", holes)
    np.save(logdir / "alone.npy", vectors[:1])
    np.save(logdir / "thin.npy", vectors[:, :1])
    whole = io.BytesIO()
    np.save(whole, vectors)
    (logdir / "cut.npy").write_bytes(whole.getvalue()[:-40])
    # An invalid index without data files, as while a checkpoint is being written.
    (logdir / "begun.ckpt.index").write_bytes(b"\0" * 20)
    (logdir / "ragged.tsv").write_text("1\t2\n3\t4\t5\n")
    Image.new("RGB", (16, 16)).save(logdir / "small.png")
    lines = format_labels().splitlines()
    lines[2:11] = [line.rpartition("\t")[0] for line in lines[2:11]]
    (logdir / "uneven_labels.tsv").write_text("\n".join(lines))
    sprite = 'sprite { image_path: "small.png" single_image_dim: 8 single_image_dim: 8 }'
    (logdir / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "ragged" tensor_path: "ragged.tsv" }\n'
        f'embeddings {{ tensor_name: "small" tensor_path: "right.npy" {sprite} }}\n'
        'embeddings { tensor_name: "uneven" tensor_path: "right.npy" '
        'metadata_path: "uneven_labels.tsv" }\n'
    )


invalid_files = board_fixture(write_invalid_files, "module", "?tab=projector")


def test_shows_message_for_invalid_files(invalid_files: str, open_page: OpenPage) -> None:
    page = open_page(invalid_files)
    drawn_points(page)
    for name, message in MESSAGES.items():
        select_embedding(page, re.compile(f"^{name}"))
        messages = page.get_by_role("status").or_(page.get_by_role("alert"))
        expect(messages.filter(has_text=message).first).to_be_visible()
    phone = open_page(invalid_files, width=390)
    select_embedding(phone, re.compile("^cut"))
    expect(phone.get_by_role("alert")).to_be_visible()
    assert not overflows(phone)


def test_shows_message_without_webgl(invalid_files: str, open_page: OpenPage) -> None:
    page = open_page("about:blank")
    page.add_init_script(
        """const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
          return kind.startsWith('webgl') ? null : get.call(this, kind, ...rest);
        };"""
    )
    page.goto(invalid_files)
    expect(page.get_by_text("WebGL 2 is not available")).to_be_visible()


def test_drops_file_and_adds_labels_and_sprite(
    invalid_files: str, open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_page(f"{invalid_files}&dimensions=2")
    drawn_points(page)
    np.save(tmp_path / "mine.npy", make_vectors().astype("f4"))
    drop_file(page, tmp_path / "mine.npy")
    expect(page.get_by_role("button", name="Select an embedding")).to_contain_text("mine")
    canvas = drawn_points(page)
    upload_panel = panel(page, "Uploaded file")
    (tmp_path / "labels.tsv").write_text(format_labels())
    page.get_by_label("Label file").set_input_files(tmp_path / "labels.tsv")
    expect(combobox(page, "Color by")).to_be_visible()
    point_search(page).fill("east")
    expect(page.get_by_role("status", name="Matches")).to_have_text("20 matches")
    point_search(page).fill("")
    Image.new("RGB", (4, 4)).save(tmp_path / "small.png")
    page.get_by_label("Sprite image").set_input_files(tmp_path / "small.png")
    expect(upload_panel.get_by_role("alert")).to_contain_text("has 0 cells")
    write_sprite(tmp_path / "sheet.png")
    page.get_by_label("Sprite image").set_input_files(tmp_path / "sheet.png")
    wait_for_condition(page, lambda: count_pixels(canvas, RED) > 500)
    # A dropped image is used as a sprite as well.
    Image.new("RGB", (56, 56), GREEN).save(tmp_path / "green.png")
    drop_file(page, tmp_path / "green.png")
    wait_for_value(page, lambda: count_pixels(canvas, RED), 0)
    wait_for_condition(page, lambda: count_pixels(canvas, GREEN) > 500)


def drop_file(page: Page, path: Path) -> None:
    """Simulate dropping a file onto the page."""
    kind = "image/png" if path.suffix == ".png" else "application/octet-stream"
    page.evaluate(
        """([name, kind, bytes]) => {
          const files = new DataTransfer();
          files.items.add(new File([new Uint8Array(bytes)], name, { type: kind }));
          const event = { dataTransfer: files, bubbles: true, cancelable: true };
          document.body.dispatchEvent(new DragEvent('drop', event));
        }""",
        [path.name, kind, [*path.read_bytes()]],
    )


def test_draws_sprites_of_several_tiles(serve: Serve, open_page: OpenPage, tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    logdir.mkdir()
    angles = np.linspace(0, 2 * np.pi, MANY, endpoint=False)
    np.save(logdir / "ring.npy", np.stack([np.cos(angles), np.sin(angles)], 1).astype("f4"))
    side = 34
    sheet = np.zeros((side * 64, side * 64, 3), np.uint8)
    sheet[:] = RED
    # Only the last row is on the second tile.
    sheet[1024 // side * 64 :] = GREEN
    Image.fromarray(sheet).save(logdir / "sheet.png")
    (logdir / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "ring" tensor_path: "ring.npy" sprite { '
        'image_path: "sheet.png" single_image_dim: 64 single_image_dim: 64 } }'
    )
    page = open_page(f"{serve(logdir).address}?tab=projector&dimensions=2")
    canvas = drawn_points(page)
    wait_for_condition(page, lambda: count_pixels(canvas, RED, GREEN) > 500)


def test_shows_new_and_changed_vectors(serve: Serve, open_page: OpenPage, tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    logdir.mkdir()
    page = open_page(f"{serve(logdir).address}?tab=projector")
    expect(page.get_by_text("No runs yet")).to_be_visible()
    np.save(logdir / "words-1.npy", make_vectors().astype("f4"))
    canvas = page.get_by_role("application")
    expect(canvas).to_have_accessible_name(f"PCA of {POINT_COUNT} points")
    drawn_points(page).press("+")
    expect(page).to_have_url(re.compile("orbit="))
    # A new step: the slider was at the last step and follows; the camera stays.
    np.save(logdir / "words-2.npy", make_vectors().astype("f4") * 2)
    step = page.get_by_role("slider", name="Step", exact=True)
    expect(step).to_have_value("1")
    expect(page).to_have_url(re.compile("orbit="))
    step.fill("0")
    expect(page).to_have_url(re.compile("version=0"))
    np.save(logdir / "words-3.npy", make_vectors().astype("f4") * 3)
    expect(step).to_have_attribute("max", "2")
    expect(step).to_have_value("0")
    # A rewritten file, then a config with labels and vectors as text.
    np.save(logdir / "words-1.npy", make_vectors().astype("f4")[:30])
    expect(canvas).to_have_accessible_name("PCA of 30 points")
    write_vectors(logdir / "v.tsv", make_vectors())
    (logdir / "labels.tsv").write_text(format_labels())
    (logdir / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "said" tensor_path: "v.tsv" metadata_path: "labels.tsv" }'
    )
    # The new embedding is listed first, but the selected one stays.
    wait_for_value(page, lambda: count_embeddings(page), 2)
    expect(canvas).to_have_accessible_name("PCA of 30 points")
    select_embedding(page, "said")
    expect(canvas).to_have_accessible_name(f"PCA of {POINT_COUNT} points")
    write_vectors(logdir / "v.tsv", make_vectors()[:25])
    expect(canvas).to_have_accessible_name("PCA of 25 points")


def count_embeddings(page: Page) -> int:
    """Return the number of embeddings to select from."""
    page.get_by_role("button", name="Select an embedding").click()
    count = page.get_by_role("dialog").get_by_role("option").count()
    page.keyboard.press("Escape")
    return count
