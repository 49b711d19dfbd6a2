"""Weights of an uploaded model file: statistics, histogram and download."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import board_fixture
from tests.web.graph_view import select_node, write_graph_log

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]

KERNEL = np.arange(12, dtype=np.float32).reshape(3, 4)

board = board_fixture(write_graph_log, "module", "?tab=graphs")


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:  # type: ignore[type-arg]
    header, data = {}, b""
    for name, array in tensors.items():
        end = len(data) + array.nbytes
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [len(data), end]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def test_weights_have_statistics_and_a_file(
    board: str, open_page: OpenPage, tmp_path: Path
) -> None:
    tensors = {"classifier.weight": KERNEL, "classifier.bias": np.zeros(3, np.float32)}
    write_safetensors(tmp_path / "model.safetensors", tensors)
    page = open_page(board)
    page.get_by_label("Graph file").set_input_files(tmp_path / "model.safetensors")
    select_node(page, "classifier")
    weights = page.get_by_role("region", name="Weights")
    kernel = weights.get_by_role("group", name="weight")
    expect(kernel).to_contain_text("float32 3\N{MULTIPLICATION SIGN}4")
    expect(kernel).to_contain_text("5.5")
    expect(kernel.get_by_role("img", name="Histogram of 12 values")).to_be_visible()
    expect(weights.get_by_role("group", name="bias")).to_contain_text("Zeros 3")
    kernel.get_by_role("button", name="Values").click()
    expect(kernel.locator("pre")).to_have_text(re.compile(r"^\[\[ ?0\..*, 11\.\]\]$", re.DOTALL))
    with page.expect_download() as download:
        kernel.get_by_role("button", name="Download .npy").click()
    assert download.value.suggested_filename == "classifier-weight.npy"
    np.testing.assert_array_equal(np.load(download.value.path()), KERNEL)
