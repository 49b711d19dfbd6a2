"""Boards and charts in a real JupyterLab under a path prefix, as behind a hub."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.index import logs
from tests.server.server_process import end_recorded_servers, get_free_port
from tests.server.waiting import wait_until
from tests.web.notebooks import (
    STARTUP_MS,
    is_port_open,
    run_cell,
    write_notebook,
)
from tracklight.server.serve import list_instances

pytestmark = pytest.mark.browser


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    logs.write(tmp_path / "logs", "conv", logs.points(range(30)))
    yield tmp_path
    end_recorded_servers()


@pytest.fixture
def lab(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the URL of the notebook in a JupyterLab with jupyter-server-proxy."""
    pytest.importorskip("jupyterlab")
    pytest.importorskip("jupyter_server_proxy")
    write_notebook(folder / "board.ipynb")
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(folder / name.lower()))
    port = get_free_port()
    settings = {
        "IdentityProvider.token": "",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder,
        "ServerApp.base_url": "/user/ada/",
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "LabApp.news_url": "",
    }
    flags = [f"--{name}={value}" for name, value in settings.items()]
    with (folder / "lab.txt").open("w") as log:
        process = subprocess.Popen([sys.executable, "-m", "jupyterlab", *flags], stderr=log)
    wait_until(lambda: is_port_open(port), 300)
    yield f"http://127.0.0.1:{port}/user/ada/lab/tree/board.ipynb"
    process.terminate()
    process.wait(300)


def test_cell_shows_a_board_and_a_chart(browser: Browser, lab: str, folder: Path) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 1800})
    page = context.new_page()
    page.set_default_timeout(STARTUP_MS)
    page.goto(lab)
    run_cell(page)
    frame = page.locator("iframe[title=tracklight]")
    expect(frame).to_be_visible(timeout=STARTUP_MS)
    (board,) = list_instances()
    assert f"/user/ada/proxy/{board.port}/" in (frame.get_attribute("src") or "")
    content = page.frame_locator("iframe[title=tracklight]")
    expect(content.get_by_text("loss", exact=True).first).to_be_visible(timeout=STARTUP_MS)
    expect(content.get_by_text("conv", exact=True).first).to_be_visible()

    chart = page.locator("figure.tracklight-chart")
    expect(chart.get_by_role("listitem")).to_have_text(["conv"])
    logs.write(folder / "logs", "vit", logs.points(range(40)))
    expect(chart.get_by_role("listitem")).to_have_text(["conv", "vit"])
    # The frame is updated as well, through the proxy.
    expect(content.get_by_text("vit", exact=True).first).to_be_visible()
    chart.locator("[role=img]").hover()
    tip = page.get_by_role("status", name="Values at the cursor")
    expect(tip).to_contain_text("vit")
    context.close()


def test_cell_shows_why_a_chart_is_empty(browser: Browser, lab: str, folder: Path) -> None:
    write_notebook(
        folder / "board.ipynb",
        "%load_ext tracklight\n%tracklight --help\n"
        'from tracklight import notebook\nnotebook.chart("logs", tag="los", interval_s=0.2)\n',
    )
    page = browser.new_context(viewport={"width": 1440, "height": 1200}).new_page()
    page.set_default_timeout(STARTUP_MS)
    page.goto(lab)
    run_cell(page)
    chart = page.locator("figure.tracklight-chart")
    expect(chart.get_by_role("alert")).to_contain_text(
        'No tag "los" in any run', timeout=STARTUP_MS
    )
    # Help is printed and does not fail the cell.
    expect(page.get_by_text("usage: tracklight [COMMAND]")).to_be_visible()
    expect(page.get_by_text("SystemExit")).to_have_count(0)
    logs.write(folder / "logs", "vit", logs.points(range(40), tag="los"))
    expect(chart.get_by_role("listitem")).to_have_text(["vit"])
    expect(chart.get_by_role("alert")).to_have_count(0)
