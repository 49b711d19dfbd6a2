"""The text of a copy's files: HTML, and scripts that a browser runs without a server.

A page opened as a file may not fetch anything, and may not load modules; it may load plain
scripts. So all data come in scripts, and no name out of a log may end one of them.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.errors import LogError
from tracklight.plugin_base import Blob
from tracklight.server import columns
from tracklight.server.page import PAGE_DIR

_START = (
    "var tracklight={packed:{},files:{},put:function(at,data){this.packed[at]=data},head:null};"
)
#: Levels of compression: pictures and clips are compressed by themselves.
_DEFLATED = 6
_STORED = 0
#: What could end a script, begin a comment, or is the end of a line to a script and not to JSON.
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def read_program(name: str, page_dir: Path = PAGE_DIR) -> str:
    """A file of the page that was built for copies."""
    path = page_dir / "copy" / name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LogError(
            "the page of this tracklight was not built, so no copy can be made with it"
        ) from None


def make_page(styles: str, scripts: Iterable[str]) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<title>tracklight</title>\n'
        f"{styles}\n</head>\n<body>\n" + "\n".join(scripts) + "\n</body>\n</html>\n"
    )


def link_script(path: str) -> str:
    return f'<script src="{path}"></script>'


def link_styles(path: str) -> str:
    return f'<link rel="stylesheet" href="{path}">'


def embed_script(program: str) -> str:
    """A program stays the same, as such signs can only stand in its strings and expressions."""
    safe = program.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return f"<script>{safe}</script>"


def embed_styles(styles: str) -> str:
    safe = styles.replace("</style", "<\\/style")
    return f"<style>{safe}</style>"


def embed_module(web_dir: Path | None) -> str | None:
    """Return the ``index.js`` of a plugin as a data URL, as pages opened from a file may not import
    other files; None for dashboards that are part of the page."""
    if web_dir is None:
        return None
    program = base64.b64encode((web_dir / "index.js").read_bytes()).decode("ascii")
    return f"data:text/javascript;base64,{program}"


def write_head(head: object, files: dict[str, str]) -> str:
    """The script that comes first: what is known at once, and in which file the rest is."""
    return f"{_START}tracklight.files={quote_json(files)};tracklight.head={quote_json(head)};"


def write_part(address: str, packed: str) -> str:
    return f"tracklight.put({quote_json(address)},{quote_json(packed)});"


class CarriedFile(msgspec.Struct):
    """A `Blob` in a copy; the page makes a file of it again."""

    media_type: str
    content: NDArray[np.uint8]


def pack(answer: object) -> str:
    """An answer with its columns as bytes, deflated and in letters that no script minds."""
    level = _DEFLATED
    if isinstance(answer, Blob):
        level = _DEFLATED if answer.media_type.startswith("text/") else _STORED
        answer = CarriedFile(answer.media_type, np.frombuffer(answer.content, np.uint8))
    packer = zlib.compressobj(level, wbits=-15)
    data = packer.compress(columns.encode(answer)) + packer.flush()
    return base64.b64encode(data).decode("ascii")


def quote_json(value: object) -> str:
    """JSON that may stand in a script within a page, whatever names are in it."""
    text = msgspec.json.encode(value).decode("utf-8")
    for sign, written in _UNSAFE.items():
        text = text.replace(sign, written)
    return text
