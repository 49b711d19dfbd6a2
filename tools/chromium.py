"""Which Chromium browser tests, benchmarks and screenshots use."""

from __future__ import annotations

import os
import shutil


def find_chromium() -> str | None:
    """Return the path of Chromium: ``TRACKLIGHT_CHROMIUM``, or one that is installed.

    The headless shell comes first: it needs half the CPU time of the full browser.
    """
    return (
        os.environ.get("TRACKLIGHT_CHROMIUM")
        or shutil.which("chromium-headless-shell")
        or shutil.which("chromium")
    )
