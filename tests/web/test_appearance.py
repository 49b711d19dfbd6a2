"""Themes, small screens, path prefixes, frames and accessibility of the page."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve
from tests.web.event_writer import write_sweep
from tests.web.locators import dashboard_tab, run_row, run_rows, step_range, tag_row
from tests.web.waiting import get_stable_box, get_stable_url, wait_for_value

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
#: Rules that depend on the theme.
COLOR_RULES = ["color-contrast", "link-in-text-block"]
#: The only rule on style sheets is experimental and does not run, so axe need not copy them.
AXE_OPTIONS = {"resultTypes": ["violations"], "preload": {"assets": ["media"]}}
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
OVERVIEW = "?tab=overview"
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(18, 18, 23)"


def overflows(page: Page) -> bool:
    """Return whether the page is still wider than the viewport after up to ten seconds."""
    return page.evaluate(
        """async () => {
            const isWider = () => document.documentElement.scrollWidth > innerWidth;
            for (let times = 0; isWider() && times < 200; times++)
                await new Promise(done => setTimeout(done, 50));
            return isWider();
        }"""
    )


def list_violations(page: Page, scope: str = "html") -> list[str]:
    """Return axe violations in both themes; in the dark one only those of color rules.

    Args:
        page: The page.
        scope: CSS selector of the element to check. Rules for a whole page, such as those on
            landmarks, need the default.
    """
    found = list_violations_in(page, "light", scope)
    page.emulate_media(color_scheme="dark")
    found += _run_axe(page, scope, runOnly=COLOR_RULES)
    page.emulate_media(color_scheme="light")
    return found


def list_violations_in(
    page: Page, theme: Literal["light", "dark"], scope: str = "html"
) -> list[str]:
    """Return axe violations in one theme."""
    page.emulate_media(color_scheme=theme)
    found = _run_axe(page, scope)
    page.emulate_media(color_scheme="light")
    return found


def _run_axe(page: Page, scope: str, **options: object) -> list[str]:
    """Return violations that persist: a panel that is fading in has too little contrast."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed; npm ci in web/ installs it")
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    for pause_ms in (0, 300, 600, 3000, 6000):
        page.wait_for_timeout(pause_ms)
        # The whole result is large: only what fails is returned.
        found: list[str] = page.evaluate(
            """async ([scope, options]) => {
                const context = scope === 'html' ? document : scope;
                const { violations } = await axe.run(context, options);
                return violations.flatMap(({ id, nodes }) =>
                    nodes.map(({ html }) => `${id}: ${html}`));
            }""",
            [scope, {**AXE_OPTIONS, **options}],
        )
        if not found:
            break
    return found


def test_theme_follows_system_until_overridden(sweep: str, open_page: Callable[..., Page]) -> None:
    page = open_page(sweep, color_scheme="dark")
    wait_for_value(page, lambda: page.evaluate(BACKGROUND), DARK)
    page.get_by_role("button", name="Switch to light theme").click()
    wait_for_value(page, lambda: page.evaluate(BACKGROUND), LIGHT)
    page.reload()
    expect(run_rows(page)).to_have_count(3)
    wait_for_value(page, lambda: page.evaluate(BACKGROUND), LIGHT)
    assert "theme" not in get_stable_url(page)
    page.get_by_role("button", name="Switch to dark theme").click()
    page.emulate_media(color_scheme="light")
    wait_for_value(page, lambda: page.evaluate(BACKGROUND), LIGHT)


def test_phone_shows_either_tags_or_runs(sweep: str, open_page: Callable[..., Page]) -> None:
    page = open_page(sweep + OVERVIEW, width=390)
    expect(tag_row(page, "train/loss")).to_contain_text(
        "Scalar · 150 points · Steps " + step_range(0, 49)
    )
    expect(run_rows(page)).to_have_count(0)
    assert not overflows(page)
    page.get_by_role("button", name="Show runs").click()
    expect(run_row(page, "vit")).to_be_visible()
    assert not overflows(page)
    page.get_by_role("button", name="Done").click()
    expect(run_rows(page)).to_have_count(0)


def test_overview_is_accessible_at_all_widths(sweep: str, open_page: Callable[..., Page]) -> None:
    page = open_page(sweep + OVERVIEW)
    for width in (1440, 820, 390):
        page.set_viewport_size({"width": width, "height": 900})
        expect(tag_row(page, "train/loss")).to_be_visible()
        assert not overflows(page), width
        assert list_violations(page) == [], width


def test_empty_state_is_accessible(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    page = open_page(serve(logdir).address)
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    assert list_violations(page) == []


def test_error_page_is_accessible(sweep: str, open_page: Callable[..., Page]) -> None:
    page = open_page("about:blank")
    page.route("**/api/v1/runs?limit=*", lambda route: route.abort())
    page.goto(sweep)
    expect(page.get_by_role("alert")).to_be_visible()
    assert list_violations(page) == []


def test_run_list_can_be_resized(sweep: str, open_page: Callable[..., Page]) -> None:
    page = open_page(sweep + OVERVIEW)
    grip = page.get_by_role("separator", name="Resize runs panel")
    grip.focus()
    page.keyboard.press("ArrowRight")
    expect(grip).to_have_attribute("aria-valuenow", "336")
    place = get_stable_box(grip)
    page.mouse.move(place.x + 3, 400)
    page.mouse.down()
    page.mouse.move(place.x + 103, 400, steps=5)
    page.mouse.up()
    expect(grip).to_have_attribute("aria-valuenow", "436")
    page.reload()
    expect(grip).to_have_attribute("aria-valuenow", "436")


def test_works_under_path_prefix(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    page = open_page(serve(logdir, prefix="/team/board").address)
    assert get_stable_url(page).endswith("/team/board/")
    expect(run_row(page, "vit")).to_be_visible()
    dashboard_tab(page, "Overview").click()
    expect(page).to_have_url(re.compile(r"/team/board/\?tab=overview$"))
    expect(tag_row(page, "train/loss").get_by_role("img")).to_be_visible()


def test_works_in_notebook_frame(
    sweep: str, open_page: Callable[..., Page], serve_notebook: Callable[[str], str]
) -> None:
    page = open_page(
        serve_notebook(f'<iframe src="{sweep}{OVERVIEW}" width="1200" height="800"></iframe>')
    )
    frame = page.frame_locator("iframe")
    expect(frame.locator("[data-run]")).to_have_count(3)
    expect(frame.get_by_role("heading", name="tracklight")).to_have_css("width", "1px")
    expect(frame.get_by_role("banner")).to_have_css("height", "40px")
    expect(frame.get_by_role("table", name="Tags")).to_contain_text("0.0863 \u2013 0.259")


@pytest.fixture
def serve_notebook() -> Iterator[Callable[[str], str]]:
    """Serve one page from another port of this machine."""
    with ExitStack() as stack:

        def serve(html: str) -> str:
            class Handler(BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    self.send_response(200)
                    self.send_header("content-type", "text/html")
                    self.end_headers()
                    self.wfile.write(html.encode())

                def log_message(self, *_: object) -> None:
                    pass

            server = stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Handler))
            threading.Thread(target=server.serve_forever).start()
            stack.callback(server.shutdown)
            return f"http://localhost:{server.server_port}/"

        yield serve
