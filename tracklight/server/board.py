"""A server in a thread of its own, for programs that go on meanwhile."""

from __future__ import annotations

import contextlib
import threading

from tracklight.index.catalog import Catalog
from tracklight.server.run import prepare
from tracklight.server.settings import Settings


class Board:
    """A log that is being served at ``url``. Close it, or use it in a ``with`` block."""

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self._ending = contextlib.ExitStack()
        self._ending.callback(catalog.close)
        try:
            prepared = self._ending.enter_context(prepare(catalog, settings))
        except BaseException:
            self._ending.close()
            raise
        self._server = prepared.server
        self.url = prepared.address
        self.port: int = prepared.listener.getsockname()[1]
        self._thread = threading.Thread(target=prepared.run, name="tracklight-board", daemon=True)
        self._thread.start()

    @property
    def is_serving(self) -> bool:
        return self._thread.is_alive()

    def wait(self) -> None:
        """Block until the board is closed by another thread; Ctrl-C interrupts it."""
        while self._thread.is_alive():
            # Without a timeout Ctrl-C is not heard on Windows.
            self._thread.join(1.0)

    def close(self) -> None:
        """Stop serving, and keep what was read for the next time."""
        self._server.end()
        self._thread.join()
        self._ending.close()

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Board at {self.url}>" if self.is_serving else "<Board, closed>"
