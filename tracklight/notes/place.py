"""Where the notes on a log are kept."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path


def find_data_folder() -> Path:
    """Tracklight's own folder for what cannot be made again, unlike a cache."""
    chosen = os.environ.get("TRACKLIGHT_DATA")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "tracklight"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tracklight" / "data"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "tracklight"


def find_book(roots: Iterable[str]) -> Path:
    """The file for these log directories, in whatever order they were given."""
    places = "\0".join(sorted(roots)).encode("utf-8", "surrogateescape")
    name = hashlib.blake2b(places, digest_size=12).hexdigest()
    return find_data_folder() / "notes" / f"{name}.json"
