"""Write and run a notebook with one cell, and find and check ports."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

from playwright.sync_api import Page, expect

#: Programs of Jupyter and kernels take long to start on a busy machine.
STARTUP_MS = 300_000

CELL = """\
%load_ext tracklight
%tracklight --logdir logs --port 0
from tracklight import notebook
notebook.chart("logs", tag="loss", interval_s=0.2)
"""


def write_notebook(file: Path, source: str = CELL) -> None:
    cell = {
        "cell_type": "code",
        "id": "only",
        "metadata": {},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    content = {
        "cells": [cell],
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    file.write_text(json.dumps(content))


def run_cell(page: Page) -> None:
    """Run the only cell of the notebook that is open in JupyterLab."""
    # Key presses are lost before the kernel is ready.
    expect(page.get_by_text("(ipykernel) | Idle")).to_be_visible(timeout=STARTUP_MS)
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
    expect(page.locator(".jp-InputPrompt").first).to_have_text(re.compile(r"\[[*1]\]"))


def is_port_open(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
