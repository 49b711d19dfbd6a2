"""Boards and charts in a real JupyterLab behind a path of its own, as a hub has it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.index import logs
from tests.server.served import serve
from tests.server.waiting import wait_until
from tracklight.notebook.frame import make_frame
from tracklight.server.instances import read_instances

pytestmark = pytest.mark.browser

CELL = """\
%load_ext tracklight
%tracklight --logdir logs --port 0
from tracklight import notebook
notebook.chart("logs", tag="loss", every_s=0.2)
"""


def write_notebook(file: Path) -> None:
    cell = {
        "cell_type": "code",
        "id": "only",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": CELL,
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = {
        "cells": [cell],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    file.write_text(json.dumps(content))


def find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def is_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TRACKLIGHT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("TRACKLIGHT_CACHE", str(tmp_path / "cache"))
    logs.write(tmp_path / "logs", "conv", logs.points(range(30)))
    yield tmp_path
    for board in read_instances():
        os.kill(board.pid, signal.SIGTERM)


@pytest.fixture
def lab(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a JupyterLab that has only this notebook, and the proxy."""
    pytest.importorskip("jupyterlab")
    pytest.importorskip("jupyter_server_proxy")
    write_notebook(folder / "board.ipynb")
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(folder / name.lower()))
    port = find_port()
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
    with (folder / "lab.txt").open("w") as said:
        process = subprocess.Popen([sys.executable, "-m", "jupyterlab", *flags], stderr=said)
    wait_until(lambda: is_open(port), 60)
    yield f"http://127.0.0.1:{port}/user/ada/lab/tree/board.ipynb"
    process.terminate()
    process.wait(30)


def test_a_cell_shows_a_board_and_a_chart(browser: Browser, lab: str, folder: Path) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 1800})
    page = context.new_page()
    page.goto(lab)
    # Before the kernel is there, a key may be pressed for nothing.
    expect(page.get_by_text("(ipykernel) | Idle")).to_be_visible(timeout=60_000)
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".jp-InputPrompt").first).to_have_text(re.compile(r"\[[*1]\]"))

    frame = page.locator("iframe[title=tracklight]")
    expect(frame).to_be_visible(timeout=60_000)
    (board,) = read_instances()
    assert f"/user/ada/proxy/{board.port}/" in (frame.get_attribute("src") or "")
    inside = page.frame_locator("iframe[title=tracklight]")
    expect(inside.get_by_text("loss", exact=True).first).to_be_visible(timeout=60_000)
    expect(inside.get_by_text("conv", exact=True).first).to_be_visible()

    chart = page.locator("figure.tracklight-chart")
    expect(chart.get_by_role("listitem")).to_have_text(["conv"])
    logs.write(folder / "logs", "vit", logs.points(range(40)))
    expect(chart.get_by_role("listitem")).to_have_text(["conv", "vit"])
    # The frame heard of it as well, through the proxy.
    expect(inside.get_by_text("vit", exact=True).first).to_be_visible()
    chart.locator("[role=img]").hover()
    tip = page.get_by_role("status", name="Values at the cursor")
    expect(tip).to_contain_text("vit")
    context.close()


class Plain(BaseHTTPRequestHandler):
    """A page that is no notebook of Jupyter's: no proxy is to be found there."""

    markup = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.markup)

    def log_message(self, *_: object) -> None:
        pass


def test_without_a_proxy_the_port_itself_is_shown(
    folder: Path, open_page: Callable[..., Page]
) -> None:
    with serve(folder / "logs", folder) as server:
        (board,) = read_instances()
        Plain.markup = f"<!doctype html><body>{make_frame(board, 500)}".encode()
        host = ThreadingHTTPServer(("127.0.0.1", 0), Plain)
        threading.Thread(target=host.serve_forever, daemon=True).start()
        page = open_page(f"http://localhost:{host.server_port}/")
        frame = page.locator("iframe[title=tracklight]")
        expect(frame).to_have_attribute("src", server.address)
        inside = page.frame_locator("iframe[title=tracklight]")
        expect(inside.get_by_text("loss", exact=True).first).to_be_visible()
        expect(page.get_by_role("link")).to_have_attribute("href", server.address)
        host.shutdown()
        host.server_close()
