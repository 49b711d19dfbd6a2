"""Where streams do not get through, as behind some proxies, the page asks again and again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve
from tests.web.parts import live_mark, run
from tests.web.writing import append, scalars, write_sweep

pytestmark = pytest.mark.browser


def test_a_page_without_streams_polls(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    page = open_page("about:blank")
    page.route("**/api/live?*", lambda route: route.abort())
    with page.expect_request("**/api/live/poll?*"):
        page.goto(serve(logdir).address)
    expect(live_mark(page, "Live")).to_be_visible()
    append(logdir / "late", *scalars("train/loss", range(5)))
    expect(run(page, "late")).to_be_visible()
    append(logdir / "later", *scalars("train/loss", range(5)))
    expect(run(page, "later")).to_be_visible()
