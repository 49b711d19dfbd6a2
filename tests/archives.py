from __future__ import annotations

import tarfile
from pathlib import Path


def extract(archive: Path, target: Path) -> None:
    """Unpack an archive of ours, on every Python there is."""
    # Debian 12's Python knows no filters yet; later ones warn when none is chosen.
    filters = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as tar:
        tar.extractall(target, **filters)
