"""A log of profiles: a model before and after tuning, two hosts, and a damaged file."""

from __future__ import annotations

import re
import time
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.findings.summary import ProfileSummary, summarize
from tracklight.cli.demo.flowers import write_flowers

DATA = Path(__file__).parents[1] / "data" / "profile"
SESSION = "plugins/profile/2024_01_02_03_04_05"
TAB = "?tab=profile"


def write_captures(logdir: Path) -> None:
    write_flowers(logdir / "flowers", seed=3, now=time.time())
    hosts = logdir / "jax" / SESSION
    hosts.mkdir(parents=True)
    for name in ("f32", "bf16"):
        content = (DATA / f"jax_{name}.xplane.pb").read_bytes()
        (hosts / f"worker-{name}.xplane.pb").write_bytes(content)
    damaged = logdir / "damaged" / SESSION
    damaged.mkdir(parents=True)
    (damaged / "worker.xplane.pb").write_bytes(b"\x0a\xff\xff\xff\x0fnothing of the kind")


def load_summary(logdir: Path, run: str) -> ProfileSummary:
    (path,) = (logdir / run).rglob("*.xplane.pb")
    return summarize(open_capture(path))


def format_ms(value: float) -> str:
    """Format a duration in milliseconds as the page does."""
    return f"{value:.3g} ms"


def choose_capture(page: Page, label: str, name: str) -> None:
    """Choose a capture by its run."""
    page.get_by_role("button", name=re.compile(f"^{label}")).click()
    page.get_by_role("dialog", name=label).get_by_role("option", name=name).click()


def open_tool(page: Page, title: str) -> None:
    tools = page.get_by_role("group", name="Tool", exact=True)
    tools.get_by_role("button", name=title, exact=True).click()


def tool_panel(page: Page, name: str) -> Locator:
    """Return the open tool once its code and first response have loaded."""
    locator = page.locator(f'[data-tool="{name}"]')
    expect(locator).to_be_visible()
    return locator


def section(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name=title, exact=True)
