"""Open boards in Chromium and measure with the browser's own clock.

Rendering uses the CPU (no GPU).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Locator, Page, ViewportSize, sync_playwright

from tools.chromium import find_chromium

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--enable-precise-memory-info",
]
SIZE: ViewportSize = {"width": 1440, "height": 900}
PATIENCE_MS = 120_000

#: Time from navigation to the first chart.
_FIRST_CHART = """
selector => new Promise(resolve => {
  const look = () => document.querySelector(selector)
    ? requestAnimationFrame(() => resolve(performance.now()))
    : requestAnimationFrame(look);
  look();
})
"""

#: Time from an action on an element until a function of the document gives another value.
_TIME_CHANGE = """
(element, [act, read]) => new Promise(resolve => {
  const value = new Function(`return ${read}`);
  const before = value();
  const began = performance.now();
  const look = () => value() !== before
    ? requestAnimationFrame(() => resolve(performance.now() - began))
    : requestAnimationFrame(look);
  new Function('element', act)(element);
  look();
})
"""
#: Frame times while the pointer moves.
_RECORD_FRAMES = """
() => {
  window.frames_ms = [];
  let last = performance.now();
  const tick = now => {
    window.frames_ms.push(now - last);
    last = now;
    window.frames_at = requestAnimationFrame(tick);
  };
  window.frames_at = requestAnimationFrame(tick);
}
"""
#: Records long tasks.
WATCH_TASKS = """
(() => {
  window.tasks_ms = [0];
  const watch = new PerformanceObserver(list => {
    for (const task of list.getEntries()) window.tasks_ms.push(task.duration);
  });
  watch.observe({ entryTypes: ['longtask'] });
})()
"""
_TAKE_FRAMES = "() => { cancelAnimationFrame(window.frames_at); return window.frames_ms.slice(2); }"


@contextmanager
def start_chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Browser) -> Iterator[Page]:
    """Open a page with an empty browser cache."""
    context = browser.new_context(viewport=SIZE)
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    yield page
    context.close()


def time_first(page: Page, url: str, selector: str) -> float:
    """Return the seconds from navigation until ``selector`` is painted."""
    page.goto(url, wait_until="commit")
    return float(page.evaluate(_FIRST_CHART, selector)) / 1000


def time_tab(page: Page, title: str, selector: str) -> float:
    """Return the seconds from a click on a tab until ``selector`` is painted."""
    link = page.get_by_role("link", name=title, exact=True)
    began = link.evaluate("link => { const now = performance.now(); link.click(); return now; }")
    return (float(page.evaluate(_FIRST_CHART, selector)) - float(began)) / 1000


def time_change(element: Locator, act: str, read: str) -> float:
    """Run ``act`` (JavaScript) on an element; return the seconds until ``read`` has changed.

    ``read`` is an expression, evaluated in every frame; the frame that paints the change is
    included.
    """
    return float(element.evaluate(_TIME_CHANGE, [act, read])) / 1000


def time_frames_ms(
    page: Page, left: float, right: float, y: float, moves: int, *, fall: float = 0
) -> list[float]:
    """Return the frame times while the pointer moves from ``left`` to ``right`` and down."""
    page.mouse.move(left, y)
    page.evaluate(_RECORD_FRAMES)
    for at in range(moves):
        page.mouse.move(left + (right - left) * at / moves, y + fall * at / moves)
    return [float(frame) for frame in page.evaluate(_TAKE_FRAMES)]


def measure_scrolling(
    page: Page, x: float, y: float, turns: int, distance: float
) -> tuple[float, float]:
    """Turn the mouse wheel at a position.

    Frames are late when other processes use the CPU; the time that the page's own thread spends on
    a frame does not depend on them.

    Returns:
        The median time between frames, and the processor time of the main thread per frame
        (script, style, layout and paint), in milliseconds.
    """
    with watch_main_thread(page) as read_work_s:
        page.mouse.move(x, y)
        before = read_work_s()
        page.evaluate(_RECORD_FRAMES)
        for _ in range(turns):
            page.mouse.wheel(0, distance)
        frames_ms = [float(frame) for frame in page.evaluate(_TAKE_FRAMES)]
        work_s = read_work_s() - before
    count = max(len(frames_ms), 1)
    return sorted(frames_ms)[count // 2], 1000 * work_s / count


@contextmanager
def watch_main_thread(page: Page) -> Iterator[Callable[[], float]]:
    """Give a function that returns the processor time of the page's main thread, in seconds."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def read_s() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(
            next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
        )

    yield read_s
    session.detach()


def read_longest_ms(page: Page) -> float:
    """Return the duration of the longest task since recording started; 0 without any."""
    return float(max(page.evaluate("window.tasks_ms")))


def read_heap_mib(page: Page) -> float:
    """Return the JavaScript heap size after garbage collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    return float(session.send("Runtime.getHeapUsage")["usedSize"]) / (1 << 20)
