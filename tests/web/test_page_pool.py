"""Tests that use one browser context after another do not see what the others left."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.web.page_pool import ContextPool

pytestmark = pytest.mark.browser

SIZE: ViewportSize = {"width": 1440, "height": 900}

STORE = """async () => {
    localStorage.setItem('kept', '1');
    sessionStorage.setItem('kept', '1');
    document.cookie = 'kept=1';
    await caches.open('kept');
    await new Promise((done) => (indexedDB.open('kept').onsuccess = done));
}"""
DESCRIBE = """async () => ({
    local: localStorage.length,
    session: sessionStorage.length,
    cookies: document.cookie,
    caches: (await caches.keys()).length,
    databases: (await indexedDB.databases()).length,
    permission: (await navigator.permissions.query({ name: 'geolocation' })).state,
    isDark: matchMedia('(prefers-color-scheme: dark)').matches,
    isPrinted: matchMedia('print').matches,
    script: 'leftFromScript' in window,
    width: innerWidth,
    address: location.pathname,
})"""


def describe(page: Page) -> dict[str, object]:
    return dict(page.evaluate(DESCRIBE))


def test_nothing_is_left_for_the_next_test(browser: Browser, sweep: str) -> None:
    pool = ContextPool(browser)
    first = pool.take()
    page = first.open_page(SIZE)
    page.goto(sweep)
    before = describe(page)
    page.evaluate(STORE)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.context.grant_permissions(["geolocation"])
    page.emulate_media(color_scheme="dark", media="print")
    page.set_viewport_size({"width": 390, "height": 900})
    page.add_init_script("window.leftFromScript = true")
    page.route("**/api/v1/runs?limit=*", lambda route: route.abort())
    page.reload()
    assert describe(page) != before
    # A test may leave more pages.
    with page.expect_popup() as popup:
        page.evaluate("window.open(location.href)")
    popup.value.wait_for_load_state()
    pool.put_back(first)
    requests.clear()

    again = pool.take()
    assert again is first
    page = again.open_page(SIZE)
    page.goto(sweep)
    assert describe(page) == before
    expect(
        page.get_by_role("complementary", name="Runs").locator("[data-run]").first
    ).to_be_visible()
    assert requests == []
    # Two pages of a test share nothing.
    other = pool.take()
    assert other is not again
    page.evaluate("localStorage.setItem('kept', '1')")
    beside = other.open_page(SIZE)
    beside.goto(sweep)
    assert describe(beside) == before
    pool.put_back(other)
    # Nor does a page with other options.
    dark = pool.take(color_scheme="dark")
    page_in_dark = dark.open_page(SIZE)
    page_in_dark.goto(sweep)
    assert describe(page_in_dark) == {**before, "isDark": True}
    pool.put_back(dark)
    assert pool.take(color_scheme="dark") is dark
    dark.close()
    # A closed context is not used again.
    page.context.close()
    pool.put_back(again)
    assert pool.take() is other
    other.close()
    pool.close()
