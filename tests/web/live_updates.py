"""Count open event streams, and hide or show a page."""

from __future__ import annotations

import urllib.request

from playwright.sync_api import Page


def count_streams(address: str, token: str = "") -> int:
    """Return the number of open event streams from the server's metrics."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"{address}metrics", headers=headers)
    with urllib.request.urlopen(request, timeout=60) as response:
        lines = response.read().decode().splitlines()
    name = "tracklight_event_streams "
    return int(next(line for line in lines if line.startswith(name)).split()[1])


def set_hidden(page: Page, hidden: bool) -> None:
    page.evaluate(
        """hidden => {
            Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
            document.dispatchEvent(new Event('visibilitychange'));
        }""",
        arg=hidden,
    )
