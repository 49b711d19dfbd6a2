"""Use of devices on the overview and in a measured range, and what is missing in a cut file."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.analysis.profiles.sample_captures import read_bytes
from tests.web.conftest import serve_log
from tests.web.profile_log import DATA, SESSION, TAB, choose_capture, open_tool, section, tool_panel

pytestmark = pytest.mark.browser

CUT = "truncated or damaged"
OpenPage = Callable[..., Page]


def write_captures(logdir: Path) -> None:
    """Write a capture of a host that runs ahead, and a third of another file."""
    packed = (DATA / "torch_ahead.pt.trace.json.gz").read_bytes()
    content = gzip.decompress((DATA / "tgpu.pt.trace.json.gz").read_bytes())
    for name, file, data in (
        ("ahead", "trace.json.gz", packed),
        ("cut", "trace.json", content[: len(content) // 3]),
    ):
        (logdir / name).mkdir(parents=True)
        (logdir / name / file).write_bytes(data)
    session = logdir / "cpu" / SESSION
    session.mkdir(parents=True)
    (session / "vm.xplane.pb").write_bytes(read_bytes("cnn_steps"))
    os.utime(logdir / "cut" / "trace.json", (1e9, 1e9))


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_log(tmp_path_factory.mktemp("devices"), write_captures) as address:
        yield address + TAB


def test_overview_shows_busy_devices_and_work_in_no_step(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "ahead")
    expect(section(page, "Step time")).to_contain_text("43.3 ms")
    device = page.get_by_role("group", name="GPU 0", exact=True)
    expect(device.locator("[data-share=busy]")).to_contain_text("Busy")
    # The kernels of the warm-up were launched before the first step.
    expect(device.locator("[data-outside]")).to_contain_text("is in no step")


def test_cut_file_is_reported_in_every_view(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "cut")
    notice = page.get_by_role("status").filter(has_text=CUT)
    expect(notice).to_be_visible()
    expect(page.get_by_text("No device activity was recorded.")).to_have_count(0)
    for title, name in (("Trace", "trace"), ("Ops", "ops")):
        open_tool(page, title)
        tool_panel(page, name)
        expect(notice).to_be_visible()


def test_xprof_rules_are_offered_without_a_device(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "cpu")
    page.get_by_role("combobox", name="Breakdown").select_option("xprof rules")
    expect(section(page, "Step time")).to_contain_text(
        "xprof\N{RIGHT SINGLE QUOTATION MARK}s rules"
    )
    expect(page).to_have_url(re.compile("p-rules=xprof"))
