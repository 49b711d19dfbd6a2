"""The directory of the user for data that cannot be recreated, unlike a cache."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from tracklight.util.hashing import hash_key


def get_data_dir() -> Path:
    """Return ``TRACKLIGHT_DATA_DIR``, or the data directory of tracklight on this system."""
    configured = os.environ.get("TRACKLIGHT_DATA_DIR")
    if configured:
        return Path(configured)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "tracklight"
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "tracklight" / "data"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "tracklight"


def get_notes_path(roots: Iterable[str]) -> Path:
    """Return the file with the notes on these log directories, in any order."""
    return get_data_dir() / "notes" / f"{hash_key(*sorted(roots))}.json"
