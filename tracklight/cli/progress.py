"""Progress bar on a terminal; prints nothing when the stream is not a terminal."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from tracklight.index.catalog import Catalog

#: Returns the amounts done and in total; None ends the bar.
ReadProgress = Callable[[], tuple[int, int] | None]

_REDRAW_S = 0.1
_BLOCKS = " ▏▎▍▌▋▊▉█"


class ProgressCounter:
    """Counts finished work for `show_progress`."""

    def __init__(self, total: int) -> None:
        self._done = 0
        self._total = total

    def add(self, amount: int) -> None:
        self._done += amount

    def read(self) -> tuple[int, int]:
        return self._done, self._total


@contextmanager
def show_progress(title: str, read: ReadProgress, stream: TextIO | None = None) -> Iterator[None]:
    """Draw a progress bar while the block runs.

    Args:
        title: Text before the bar.
        read: Called for each redraw, in another thread.
        stream: Where to draw; by default standard error.
    """
    out = stream or sys.stderr
    if not out.isatty():
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=_draw, args=(title, read, out, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def show_loading(catalog: Catalog, stream: TextIO) -> AbstractContextManager[None]:
    """Draw a progress bar until the log has been read for the first time."""

    def read() -> tuple[int, int] | None:
        done, total = read_byte_progress(catalog)
        return None if catalog.version or done >= total > 0 else (done, total)

    return show_progress("reading", read, stream)


def read_byte_progress(catalog: Catalog) -> tuple[int, int]:
    progress = catalog.progress
    return progress.bytes_done, progress.bytes_total


def _draw(title: str, read: ReadProgress, out: TextIO, stop: threading.Event) -> None:
    started_s = time.monotonic()
    is_drawn = False
    while not stop.wait(_REDRAW_S) and (state := read()) is not None:
        if state[1]:
            out.write("\r" + format_bar(title, *state, time.monotonic() - started_s))
            out.flush()
            is_drawn = True
    if is_drawn:
        out.write("\r\x1b[K")  # erase the line
        out.flush()


def format_bar(title: str, done: int, total: int, elapsed_s: float) -> str:
    """Format the bar with the percentage and, once it can be estimated, the remaining time."""
    fraction = min(1.0, done / total) if total else 0.0
    remaining = f"{elapsed_s / fraction - elapsed_s:,.0f} s left" if fraction > 0.01 else ""
    width = max(10, min(40, shutil.get_terminal_size().columns - len(title) - 24))
    return f"{title} {_format_blocks(fraction, width)} {fraction:4.0%} {remaining:<14}"


def _format_blocks(fraction: float, width: int) -> str:
    eighths = round(fraction * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_BLOCKS[rest] if full < width else "")).ljust(width)
