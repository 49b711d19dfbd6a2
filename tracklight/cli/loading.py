"""How far the first reading of a log has come, drawn below the address of its board."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TextIO

from tracklight.cli.progress import show_bar
from tracklight.index.catalog import Catalog


def show_loading(catalog: Catalog, stream: TextIO) -> AbstractContextManager[None]:
    """A bar for as long as the log is read for the first time; a small log needs none."""

    def read() -> tuple[int, int] | None:
        done, total = count_bytes(catalog)
        return None if catalog.version or done >= total > 0 else (done, total)

    return show_bar("reading", read, stream)


def count_bytes(catalog: Catalog) -> tuple[int, int]:
    progress = catalog.progress
    return progress.bytes_done, progress.bytes_total
