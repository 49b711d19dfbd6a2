"""Amounts of memory as people write them: ``2GB``, ``512 MiB``, or a plain number of bytes."""

from __future__ import annotations

import re

from tracklight.errors import UsageError

_SIZE = re.compile(r"\s*(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<prefix>[kmgt]?)(?P<i>i?)b?\s*", re.I)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_bytes(size: str | int) -> int:
    """``2GB`` is 2,000,000,000 bytes and ``2GiB`` is 2,147,483,648."""
    if isinstance(size, int):
        return size
    match = _SIZE.fullmatch(size)
    if match is None:
        raise UsageError(f'"{size}" is not an amount of memory; write it as 2GB or 512MB')
    base = 1024 if match["i"] else 1000
    return int(float(match["number"]) * base ** _POWERS[match["prefix"].lower()])


def format_bytes(size_bytes: int) -> str:
    """A few digits and a unit: ``1.4 MB``."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    size = float(size_bytes)
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 999.5:
            return f"{size:.3g} {unit}"
    return f"{size / 1000:,.3g} TB"
