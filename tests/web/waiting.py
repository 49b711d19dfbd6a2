"""Wait until a page reaches a state; on a busy machine, intermediate states are visible."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from playwright.sync_api import Locator, Page

TIMEOUT_S = 60.0
#: Longer than the page debounces URL updates.
STABLE_MS = 250

# Wait with the page's own timers: on a slow machine they are delayed like the page's updates.
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
_STABLE_TEXT = _STABLE_VALUE % "node.innerText"


class Box(NamedTuple):
    """The bounding box of an element on the screen, in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def center(self) -> tuple[float, float]:
        return self.at(0.5, 0.5)

    def at(self, across: float, down: float) -> tuple[float, float]:
        """Return the point at these fractions of the width and height."""
        return self.x + self.width * across, self.y + self.height * down


def wait_for_value(page: Page, read: Callable[[], object], expected: object) -> None:
    """Wait until `read()` equals the expected value, which may be a `pytest.approx`.

    While the page lacks what is read, such as a row of a table, `read` may raise LookupError
    or ValueError.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        with suppress(LookupError, ValueError):
            if read() == expected:
                return
        page.wait_for_timeout(50)
    value = read()
    assert value == expected, value


def wait_for_condition(page: Page, condition: Callable[[], object]) -> None:
    """Wait until the condition is true."""
    wait_for_value(page, lambda: bool(condition()), True)


def get_stable_url(page: Page, pause_ms: int = STABLE_MS) -> str:
    """Return the URL once it has stopped changing."""
    return str(page.locator("html").evaluate(_STABLE_URL, pause_ms))


def get_stable_box(locator: Locator, pause_ms: int = 60) -> Box:
    """Return the bounding box of an element once it has stopped moving."""
    rect = locator.evaluate(_STABLE_BOX, pause_ms)
    return Box(rect["x"], rect["y"], rect["width"], rect["height"])


def get_stable_text(locator: Locator, pause_ms: int = STABLE_MS) -> str:
    """Return the text of an element once it has stopped changing."""
    return str(locator.evaluate(_STABLE_TEXT, pause_ms))
