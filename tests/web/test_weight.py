"""Size of the JavaScript that a browser loads before it shows scalars."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from tracklight.server.routing import PAGE_DIR

#: Compressed JavaScript.
MAX_BYTES = 131 * 1024

#: Assets in the head of a page, static imports of a module, and its list of preloads.
HEAD_ASSETS = re.compile(r'(?:src|href)="\./(assets/[^"]+\.(?:js|css))"')
STATIC_IMPORTS = re.compile(r'(?:from|import)\s*"\./([^"]+\.js)"')
PRELOADS = re.compile(r"m\.f=\[([^\]]*)\]")
#: The module of the Scalars dashboard, and the indices of its preloads.
SCALARS = re.compile(
    r'name:"scalars".*?import\("\./([^"]+\.js)"\)\s*,\s*__vite__mapDeps\(\[([\d,]*)\]\)', re.DOTALL
)


def get_entry(assets: Path) -> Path:
    """Return the module that lists all dashboards; that of Scalars also has its name."""
    texts = {path: path.read_text("utf-8") for path in assets.glob("*.js")}
    (entry,) = [
        path for path, text in texts.items() if SCALARS.search(text) and 'name:"images"' in text
    ]
    return entry


def collect_scalars_modules(entry: Path) -> set[Path]:
    text = entry.read_text("utf-8")
    found, listed = SCALARS.search(text), PRELOADS.search(text)
    assert found and listed
    names = re.findall(r'"\./([^"]+)"', listed[1])
    return {
        entry.parent / name for name in (found[1], *(names[int(at)] for at in found[2].split(",")))
    }


def test_download_size_of_scalars_is_limited() -> None:
    if not (PAGE_DIR / "index.html").exists():
        pytest.skip("the page was not built; make test builds it")
    head = (PAGE_DIR / "index.html").read_text("utf-8")
    todo = {PAGE_DIR / name for name in HEAD_ASSETS.findall(head)}
    todo |= collect_scalars_modules(get_entry(PAGE_DIR / "assets"))
    seen: set[Path] = {PAGE_DIR / "index.html"}
    while todo:
        path = todo.pop()
        seen.add(path)
        if path.suffix == ".js":
            names = STATIC_IMPORTS.findall(path.read_text("utf-8"))
            todo |= {path.parent / name for name in names} - seen
    assert len(seen) > 5
    assert not any("later-parts" in path.name for path in seen)
    # three.js is loaded only by dashboards that use WebGL.
    assert not any("WebGLRenderer" in path.read_text("utf-8") for path in seen)
    sizes = {p.name: len(gzip.compress(p.read_bytes(), 9)) for p in seen if p.suffix == ".js"}
    assert sum(sizes.values()) < MAX_BYTES, sizes
