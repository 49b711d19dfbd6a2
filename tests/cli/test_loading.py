from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from tests.cli.test_progress import Terminal
from tests.server.waiting import wait_until
from tracklight.cli.logdir_arg import show_loading


def make_catalog(done: int, total: int) -> Any:
    progress = SimpleNamespace(bytes_done=done, bytes_total=total)
    return SimpleNamespace(progress=progress, version=0)


def test_bar_disappears_once_the_log_is_read() -> None:
    out, catalog = Terminal(), make_catalog(1, 4)
    with show_loading(catalog, out):
        wait_until(lambda: "25%" in out.getvalue())
        catalog.progress.bytes_done = 4
        wait_until(lambda: out.getvalue().endswith("\r\x1b[K"))
        drawn = out.getvalue()
        catalog.progress.bytes_total = 8  # data written later does not bring the bar back

    assert out.getvalue() == drawn


def test_shows_no_bar_for_an_empty_log() -> None:
    out, reads = Terminal(), 0

    class EmptyCatalog:
        version = 0

        @property
        def progress(self) -> Any:
            nonlocal reads
            reads += 1
            return SimpleNamespace(bytes_done=0, bytes_total=0)

    with show_loading(cast(Any, EmptyCatalog()), out):
        wait_until(lambda: reads > 2)
    assert out.getvalue() == ""
