"""Where the notes on a log are kept."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from tracklight.util.hashing import hash_key


def get_data_dir() -> Path:
    """Tracklight's own folder for what cannot be made again, unlike a cache."""
    chosen = os.environ.get("TRACKLIGHT_DATA_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "tracklight"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tracklight" / "data"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "tracklight"


def get_notes_path(roots: Iterable[str]) -> Path:
    """The file for these log directories, in whatever order they were given."""
    return get_data_dir() / "notes" / f"{hash_key(*sorted(roots))}.json"
