"""Accessibility rules of axe on every dashboard in both themes, wide and narrow.

``test_languages.py`` checks the dashboards in Chinese.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.every_dashboard import DASHBOARDS, ENGLISH, Dashboard
from tests.web.test_appearance import list_violations, list_violations_in
from tests.web.test_languages import PHONE_PX

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=str)
def test_dashboard_has_no_violations(
    dashboard: Dashboard, chinese_board: str, open_page: Callable[..., Page]
) -> None:
    page = open_page("about:blank")
    dashboard.open(page, chinese_board, ENGLISH)
    expect(page.locator("html")).to_have_attribute("lang", ENGLISH)
    scope = "html"
    for view in dashboard.iter_views(page):
        # Checks both themes.
        assert list_violations(page, scope) == [], view
        scope = "main"  # All views have the same header and run table.
    page.set_viewport_size({"width": PHONE_PX, "height": 900})
    dashboard.wait_until_stable(page)
    assert list_violations_in(page, "light") == []
