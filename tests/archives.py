from __future__ import annotations

import tarfile
from pathlib import Path


def extract(archive: Path, target: Path) -> None:
    """Extract an archive of the test data with any supported Python."""
    # Debian 12's Python has no extraction filters; later versions warn if none is given.
    filters = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as tar:
        tar.extractall(target, **filters)
