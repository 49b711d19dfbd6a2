"""Waiting for what a page comes to: a busy machine shows steps on the way that nobody means."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from playwright.sync_api import Locator, Page

TIMEOUT_S = 60.0
#: Longer than the page lets a change of its address wait.
STABLE_MS = 250

# The page's own clock is asked: however slow it is, its timers wait in one line with this one.
_STABLE_VALUE = """async (node, pauseMs) => {
    const look = () => JSON.stringify(%s);
    for (let seen = look(), again; ; seen = again) {
        await new Promise(done => setTimeout(() => requestAnimationFrame(done), pauseMs));
        again = look();
        if (again === seen) return JSON.parse(seen);
    }
}"""
_STABLE_URL = _STABLE_VALUE % "location.href"
_STABLE_BOX = _STABLE_VALUE % "node.getBoundingClientRect()"


class Box(NamedTuple):
    """Where something is on the screen, in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def center(self) -> tuple[float, float]:
        return self.at(0.5, 0.5)

    def at(self, across: float, down: float) -> tuple[float, float]:
        """The point at these shares of the width and the height."""
        return self.x + self.width * across, self.y + self.height * down


def wait_for_value(page: Page, read: Callable[[], object], wanted: object) -> None:
    """Waits until what is read equals what is wanted; approximate values may be wanted, too."""
    deadline = time.monotonic() + TIMEOUT_S
    while (seen := read()) != wanted and time.monotonic() < deadline:
        page.wait_for_timeout(50)
    assert seen == wanted


def wait_for_condition(page: Page, is_so: Callable[[], object]) -> None:
    """Waits until something is so."""
    wait_for_value(page, lambda: bool(is_so()), True)


def get_stable_url(page: Page, pause_ms: int = STABLE_MS) -> str:
    """The address once nothing is to be written into it any more."""
    return str(page.locator("html").evaluate(_STABLE_URL, pause_ms))


def get_stable_box(found: Locator, pause_ms: int = 60) -> Box:
    """Where something is once it moves no more."""
    rest = found.evaluate(_STABLE_BOX, pause_ms)
    return Box(rest["x"], rest["y"], rest["width"], rest["height"])
