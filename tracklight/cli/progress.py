"""A bar that shows on a terminal how far a long piece of work has come; elsewhere, nothing."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TextIO

from tracklight.index.catalog import Catalog

#: How much of how much is done; None once nothing is left to be shown.
ReadProgress = Callable[[], tuple[int, int] | None]

_REDRAW_S = 0.1

_BLOCKS = " ▏▎▍▌▋▊▉█"


class ProgressCounter:
    """How much of how much is done."""

    def __init__(self, total: int) -> None:
        self._done = 0
        self._total = total

    def add(self, amount: int) -> None:
        self._done += amount

    def read(self) -> tuple[int, int]:
        return self._done, self._total


@contextmanager
def show_progress(title: str, read: ReadProgress, stream: TextIO | None = None) -> Iterator[None]:
    """While the block runs, draw how much of how much is done, as ``read`` tells it."""
    out = stream or sys.stderr
    if not out.isatty():
        yield
        return
    ended = threading.Event()
    drawing = threading.Thread(target=_draw, args=(title, read, out, ended), daemon=True)
    drawing.start()
    try:
        yield
    finally:
        ended.set()
        drawing.join()


def _draw(title: str, read: ReadProgress, out: TextIO, ended: threading.Event) -> None:
    began_s = time.monotonic()
    drawn = False
    while not ended.wait(_REDRAW_S) and (state := read()) is not None:
        if state[1]:
            out.write("\r" + format_bar(title, *state, time.monotonic() - began_s))
            out.flush()
            drawn = True
    if drawn:
        out.write("\r\x1b[K")
        out.flush()


def format_bar(title: str, done: int, total: int, elapsed_s: float) -> str:
    share = min(1.0, done / total) if total else 0.0
    left = f"{elapsed_s / share - elapsed_s:,.0f} s left" if share > 0.01 else ""
    width = max(10, min(40, shutil.get_terminal_size().columns - len(title) - 24))
    return f"{title} {_format_blocks(share, width)} {share:4.0%} {left:<14}"


def _format_blocks(share: float, width: int) -> str:
    eighths = round(share * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_BLOCKS[rest] if full < width else "")).ljust(width)


# How far the first reading of a log has come, drawn below the address of its board.


def show_loading(catalog: Catalog, stream: TextIO) -> AbstractContextManager[None]:
    """A bar for as long as the log is read for the first time; a small log needs none."""

    def read() -> tuple[int, int] | None:
        done, total = read_byte_progress(catalog)
        return None if catalog.version or done >= total > 0 else (done, total)

    return show_progress("reading", read, stream)


def read_byte_progress(catalog: Catalog) -> tuple[int, int]:
    progress = catalog.progress
    return progress.bytes_done, progress.bytes_total
