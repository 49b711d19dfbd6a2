"""How much code a browser has to load before it shows scalars."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from tracklight.server.page import PAGE_DIR

MOST_BYTES = 250_000

#: What a page names in its head, what a module imports at once, and what it lists to be fetched.
IN_HEAD = re.compile(r'(?:src|href)="\./(assets/[^"]+\.(?:js|css))"')
AT_ONCE = re.compile(r'(?:from|import)\s*"\./([^"]+\.js)"')
LISTED = re.compile(r"m\.f=\[([^\]]*)\]")
#: Where the code of Scalars is, and which of the list come with it.
SCALARS = re.compile(
    r'name:"scalars".*?import\("\./([^"]+\.js)"\)\s*,\s*__vite__mapDeps\(\[([\d,]*)\]\)', re.DOTALL
)


def find_entry(assets: Path) -> Path:
    """The module that knows all dashboards."""
    return next(path for path in assets.glob("*.js") if SCALARS.search(path.read_text("utf-8")))


def find_with_scalars(entry: Path) -> set[Path]:
    text = entry.read_text("utf-8")
    found, listed = SCALARS.search(text), LISTED.search(text)
    assert found and listed
    names = re.findall(r'"\./([^"]+)"', listed[1])
    return {
        entry.parent / name for name in (found[1], *(names[int(at)] for at in found[2].split(",")))
    }


def test_the_page_and_scalars_are_light() -> None:
    if not (PAGE_DIR / "index.html").exists():
        pytest.skip("the page was not built; make test builds it")
    head = (PAGE_DIR / "index.html").read_text("utf-8")
    todo = {PAGE_DIR / name for name in IN_HEAD.findall(head)}
    todo |= find_with_scalars(find_entry(PAGE_DIR / "assets"))
    seen: set[Path] = {PAGE_DIR / "index.html"}
    while todo:
        path = todo.pop()
        seen.add(path)
        if path.suffix == ".js":
            names = AT_ONCE.findall(path.read_text("utf-8"))
            todo |= {path.parent / name for name in names} - seen
    assert len(seen) > 8
    assert not any("studio" in path.name for path in seen)  # three.js is for who looks at meshes
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in seen) < MOST_BYTES
