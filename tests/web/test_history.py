"""Back and Forward restore every dashboard: all controls whose state is in the URL follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from playwright.sync_api import Page

from tests.web.every_dashboard import DASHBOARDS, ENGLISH, Dashboard
from tests.web.waiting import get_stable_url, wait_for_value

pytestmark = pytest.mark.browser

#: Controls with two or more states: toggles, checkboxes, sliders and selects.
CONTROLS = (
    "main :is(button[aria-pressed], [role=switch], input[type=checkbox], input[type=range], select)"
    ":not(:disabled, [aria-disabled=true], article *, [role=dialog] *)"
)
READ_STATES = """all => all.map((control) => [
  control.ariaLabel || control.labels?.[0]?.textContent || control.textContent.trim(),
  control.ariaPressed ?? control.ariaChecked ?? String(control.checked ?? ''),
  control.matches('select, input[type=range]') ? control.value : '',
].join(' | '))"""
#: Each takes about two seconds.
MAX_CHECKED = 3
#: Operate a control, and return whether it can be in another state.
CHANGE = """control => {
  if (control.ariaPressed === 'true' && control.closest('.segmented')) return false;
  if (!control.matches('select, input[type=range]')) {
    control.click();
    return true;
  }
  const before = control.value;
  if (control.matches('select')) control.selectedIndex = control.options.length - 1;
  else {
    control.value = control.max;
    if (control.value === before) control.value = control.min;
  }
  if (control.value === before) return false;
  for (const type of ['input', 'change'])
    control.dispatchEvent(new Event(type, { bubbles: true }));
  return true;
}"""
#: Add a history entry as if the user had been at a URL, and go to it.
ADD_ENTRY = """url => {
  history.pushState(null, '', url);
  dispatchEvent(new PopStateEvent('popstate'));
}"""


def read_states(page: Page) -> list[str]:
    states: list[str] = page.locator(CONTROLS).evaluate_all(READ_STATES)
    return states


#: The settings of a workspace are stored with it, not in the URL.
WITH_URL = [dashboard for dashboard in DASHBOARDS if dashboard.tab != "workspaces"]


@pytest.mark.parametrize("dashboard", WITH_URL, ids=str)
def test_controls_follow_the_url(
    dashboard: Dashboard, chinese_board: str, open_page: Callable[..., Page]
) -> None:
    if dashboard.tab == "runs":  # most controls are in popovers; groups have another one
        dashboard = replace(dashboard, content="main [role=row]", query="&rt-group=state")
    page = open_page("about:blank")
    dashboard.open(page, chinese_board, ENGLISH)
    checked = 0
    url = get_stable_url(page)
    for index in range(page.locator(CONTROLS).count()):
        before = read_states(page)
        if index >= len(before) or not page.locator(CONTROLS).nth(index).evaluate(CHANGE):
            continue
        changed_url = get_stable_url(page)
        if changed_url == url:
            continue
        dashboard.wait_until_stable(page)
        after = read_states(page)
        assert after != before, f"{before[index]} has another URL and looks the same"
        page.evaluate(ADD_ENTRY, url)
        wait_for_value(page, lambda before=before: read_states(page) == before, True)
        page.go_back()
        wait_for_value(page, lambda after=after: read_states(page) == after, True)
        wait_for_value(page, lambda: page.url, changed_url)
        page.go_forward()
        wait_for_value(page, lambda before=before: read_states(page) == before, True)
        assert get_stable_url(page) == url
        checked += 1
        if checked == MAX_CHECKED:
            break
    assert checked > 0
