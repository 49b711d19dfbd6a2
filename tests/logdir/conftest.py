from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

#: The user "nobody" on most systems; any unprivileged user would do.
_NOBODY = 65534


@pytest.fixture
def unprivileged_path() -> Iterator[Path]:
    """Run the test as an unprivileged user, in a directory of that user."""
    if not hasattr(os, "geteuid"):
        pytest.skip("permissions work differently on this system")
    folder = Path(tempfile.mkdtemp())
    is_root = os.geteuid() == 0
    if is_root:  # root ignores permissions
        os.chown(folder, _NOBODY, -1)
        os.seteuid(_NOBODY)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o700)
        shutil.rmtree(folder)
