"""Browser contexts that one test after another uses.

A context that has loaded the page before has its scripts in the HTTP cache and compiled, which
saves much of the CPU time of a test. Each test gets a new page, so that listeners, routes, init
scripts, emulation, session storage and workers end with it; what a context keeps is cleared.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, Error, Frame, Page, ViewportSize

#: What the Chrome DevTools Protocol's `Storage.clearDataForOrigin` clears.
STORAGE_TYPES = "cookies,local_storage,indexeddb,cache_storage,service_workers,file_systems"
#: Each has a renderer process. Some tests use two pages at once, or options.
MAX_IDLE = 4
#: Its renderer process gets larger and slower with each page, by 3 % after 80 of them.
MAX_PAGES = 60


class ReusedContext:
    """A browser context for one test at a time."""

    def __init__(self, browser: Browser, options: dict[str, Any]) -> None:
        self.options = options
        self.page_count = 0
        self._context: BrowserContext = browser.new_context(**options)
        self._origins: set[str] = set()
        # Keeps the renderer process, and with it compiled scripts, when a test has ended.
        self._idle_page = self._context.new_page()
        self._devtools = self._context.new_cdp_session(self._idle_page)
        self._context.on("page", lambda page: page.on("framenavigated", self._add_origin))

    def _add_origin(self, frame: Frame) -> None:
        url = urlsplit(frame.url)
        if url.scheme in ("http", "https"):
            self._origins.add(f"{url.scheme}://{url.netloc}")

    def open_page(self, size: ViewportSize) -> Page:
        self.page_count += 1
        page = self._context.new_page()
        page.set_viewport_size(size)
        return page

    def reset(self) -> bool:
        """Close all pages and clear what they stored; return false if the context was closed."""
        try:
            for page in self._context.pages:
                if page != self._idle_page:
                    page.close()
            self._context.clear_cookies()
            self._context.clear_permissions()
            if permissions := self.options.get("permissions"):
                self._context.grant_permissions(permissions)
            for origin in self._origins:
                self._devtools.send(
                    "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": STORAGE_TYPES}
                )
            self._origins.clear()
        except Error:
            return False
        return True

    def close(self) -> None:
        self._context.close()


class ContextPool:
    """Contexts that no test uses at the moment."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._idle: list[ReusedContext] = []

    def take(self, **options: Any) -> ReusedContext:
        """Return a context with these options, the one that was used last if there are several."""
        for context in reversed(self._idle):
            if context.options == options:
                self._idle.remove(context)
                return context
        return ReusedContext(self._browser, options)

    def put_back(self, context: ReusedContext) -> None:
        if context.page_count >= MAX_PAGES:
            context.close()
        elif context.reset():
            self._idle.append(context)
        while len(self._idle) > MAX_IDLE:
            self._idle.pop(0).close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
