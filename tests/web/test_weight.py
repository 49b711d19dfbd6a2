"""How much code a browser has to load before it shows scalars."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from tracklight.server.page import PAGE_DIR

MOST_BYTES = 250_000

#: What a module imports at once, or loads with a dashboard, by the names of built files.
REFERENCE = re.compile(r"""["'(./]((?:[\w-]+/)*[\w-]+-[\w-]{8}\.(?:js|css))["')]""")


def test_the_page_and_scalars_are_light() -> None:
    if not (PAGE_DIR / "index.html").exists():
        pytest.skip("the page was not built; make test builds it")
    seen: set[Path] = set()
    todo = [PAGE_DIR / "index.html"]
    while todo:
        path = todo.pop()
        seen.add(path)
        names = {Path(name).name for name in REFERENCE.findall(path.read_text(encoding="utf-8"))}
        found = {PAGE_DIR / "assets" / name for name in names}
        todo += [path for path in found - seen if path.exists() and path not in todo]
    assert len(seen) > 4
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in seen) < MOST_BYTES
