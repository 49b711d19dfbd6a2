"""Histograms: 1,000 steps of 50 tags, compared with TensorBoard.

The log has been loaded. Page: from navigation (empty browser cache) until the first card is drawn.
TensorBoard also draws 51 histograms; for distributions it uses the 100 sampled steps, tracklight
all 1,000. Tab: from a click on the tab while another one is open.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from playwright.sync_api import Browser

from benchmarks import board, peers
from benchmarks.browser import open_page, start_chromium, time_first, time_tab
from benchmarks.make_logs import Histograms, get_histograms
from benchmarks.page import OUR_CHART
from benchmarks.report import Row, Timing, repeat
from benchmarks.website import Website

#: One histogram, and the distribution drawn by Plottable.
THEIR_CARDS = {
    "histograms": "vz-histogram-timeseries .histogram",
    "distributions": "vz-distribution-chart svg path",
}
_TAG = "layer0/w0"


def measure(quick: bool) -> Iterator[Row]:
    shape = Histograms(5, 100) if quick else Histograms(50, 1_000)
    logdir, times = get_histograms(shape), 1 if quick else 5
    with start_chromium() as browser:
        with board.start_tracklight(logdir) as site:
            _wait(site, "api/v1/histograms/steps", shape)
            ours = {
                name: _time(browser, f"{site.url}?tab={name}", OUR_CHART, times)
                for name in THEIR_CARDS
            }
            opened = {name: _time_tab(browser, site.url, name, times) for name in THEIR_CARDS}
        with peers.start_tensorboard(logdir) as site:
            _wait_for_peer(site)
            theirs = {
                name: _time_peer(browser, f"{site.url}#{name}", times) for name in THEIR_CARDS
            }
    for name, timing in ours.items():
        ratio = theirs[name].median_s / timing.median_s
        what = f"Navigation to the first card of {name}, {shape}"
        yield Row(what, timing, theirs[name], ratio)
        what = f"Tab of {name} opened to its first card, {shape}"
        reached = opened[name].median_s < 0.5
        yield Row(what, str(opened[name]), must="under 500 ms", reached=reached)


def _time(browser: Browser, url: str, selector: str, times: int) -> Timing:
    def once() -> float:
        with open_page(browser) as page:
            return time_first(page, url, selector)

    return repeat(times, once)


def _time_tab(browser: Browser, url: str, name: str, times: int) -> Timing:
    """The browser has to load the code of the dashboard first."""

    def once() -> float:
        with open_page(browser) as page:
            page.goto(f"{url}?tab=overview")
            return time_tab(page, name.capitalize(), OUR_CHART)

    return repeat(times, once)


def _time_peer(browser: Browser, url: str, times: int) -> Timing:
    """The cards are in shadow trees, which only the browser driver can query."""
    selector = THEIR_CARDS[url.rpartition("#")[2]]

    def once() -> float:
        with open_page(browser) as page:
            page.goto(url, wait_until="commit")
            page.locator(selector).first.wait_for(state="attached")
            return float(page.evaluate("performance.now()")) / 1000

    return repeat(times, once)


def _wait(site: Website, path: str, shape: Histograms) -> None:
    """Wait until the last step has been read."""
    while True:
        series = site.post(path, {"tags": [_TAG]})["series"]
        if series and max(series[0]["step"]) >= shape.steps - 1:
            return
        time.sleep(0.1)


def _wait_for_peer(site: Website) -> None:
    """Wait until TensorBoard lists the tags; it has read all runs then."""
    while not any(site.get("data/plugin/histograms/tags").values()):
        time.sleep(0.2)
    time.sleep(2)
