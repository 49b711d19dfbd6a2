"""The text of a copy's files: HTML, and scripts that a browser runs without a server.

A page opened as a file may not fetch anything, and may not load modules; it may load plain
scripts. So all data come in scripts, and no name out of a log may end one of them.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.source import Blob
from tracklight.errors import LogError, UsageError
from tracklight.reader.export import open_output
from tracklight.server import responses
from tracklight.server.page import PAGE_DIR
from tracklight.server.static_export.contents import ExportContents

_BOOTSTRAP_SCRIPT = (
    "var tracklight={packed:{},files:{},put:function(at,data){this.packed[at]=data},head:null};"
)

#: Levels of compression: pictures and clips are compressed by themselves.
_DEFLATE_LEVEL = 6

_STORE_LEVEL = 0

#: What could end a script, begin a comment, or is the end of a line to a script and not to JSON.
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}


def read_asset(name: str, page_dir: Path = PAGE_DIR) -> str:
    """A file of the page that was built for copies."""
    path = page_dir / "copy" / name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LogError(
            "the page of this tracklight was not built, so no copy can be made with it"
        ) from None


def build_html(styles: str, scripts: Iterable[str]) -> str:
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


def build_head_script(head: object, files: dict[str, str]) -> str:
    """The script that comes first: what is known at once, and in which file the rest is."""
    return f"{_BOOTSTRAP_SCRIPT}tracklight.files={escape_json(files)};tracklight.head={escape_json(head)};"


def build_part_script(address: str, packed: str) -> str:
    return f"tracklight.put({escape_json(address)},{escape_json(packed)});"


class ExportedFile(msgspec.Struct):
    """A `Blob` in a copy; the page makes a file of it again."""

    media_type: str
    content: NDArray[np.uint8]


def pack_response(answer: object) -> str:
    """An answer with its columns as bytes, deflated and in letters that no script minds."""
    level = _DEFLATE_LEVEL
    if isinstance(answer, Blob):
        level = _DEFLATE_LEVEL if answer.media_type.startswith("text/") else _STORE_LEVEL
        answer = ExportedFile(answer.media_type, np.frombuffer(answer.content, np.uint8))
    packer = zlib.compressobj(level, wbits=-15)
    data = packer.compress(responses.encode_columns(answer)) + packer.flush()
    return base64.b64encode(data).decode("ascii")


def escape_json(value: object) -> str:
    """JSON that may stand in a script within a page, whatever names are in it."""
    text = msgspec.json.encode(value).decode("utf-8")
    for sign, written in _ESCAPES.items():
        text = text.replace(sign, written)
    return text


# Writes a copy of a board, as a folder or as one file.

#: A browser opens a larger file, but nobody likes to wait for it.
_MAX_FILE_BYTES = 100 << 20

ProgressCallback = Callable[[int], None]


def write_static_export(
    contents: ExportContents, target: Path, on_progress: ProgressCallback = lambda parts: None
) -> None:
    """Copy into the folder ``target``, or into one file if it is named so; ``tell`` hears of
    each part that is done."""
    if target.suffix.lower() in (".html", ".htm"):
        _write_file(contents, target, on_progress)
    else:
        _write_folder(contents, target, on_progress)


def _write_folder(contents: ExportContents, target: Path, tell: ProgressCallback) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already; give a directory that is new or empty")
    (target / "data").mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    copied = set()
    for number, (dashboard, address, answer) in enumerate(contents.iter_parts()):
        files[address] = f"data/{dashboard}-{number}.js"
        copied.add(dashboard)
        _write_text(target / files[address], build_part_script(address, pack_response(answer)))
        tell(1)
    _write_text(target / "data/board.js", build_head_script(contents.build_head(copied), files))
    for name in ("board.js", "board.css"):
        _write_text(target / name, read_asset(name))
    scripts = map(link_script, ("data/board.js", "board.js"))
    _write_text(target / "index.html", build_html(link_styles("board.css"), scripts))


def _write_file(contents: ExportContents, target: Path, tell: ProgressCallback) -> None:
    parts: list[str] = []
    copied = set()
    size_bytes = 0
    for dashboard, address, answer in contents.iter_parts():
        parts.append(build_part_script(address, pack_response(answer)))
        copied.add(dashboard)
        size_bytes += len(parts[-1])
        if size_bytes > _MAX_FILE_BYTES:
            raise UsageError(
                f"this board takes more than {_MAX_FILE_BYTES >> 20} MB; copy it into a "
                "directory, or choose fewer runs or tags"
            )
        tell(1)
    scripts = [build_head_script(contents.build_head(copied), {}), *parts, read_asset("board.js")]
    styles = embed_styles(read_asset("board.css"))
    _write_text(target, build_html(styles, map(embed_script, scripts)))


def _write_text(path: Path, text: str) -> None:
    with open_output(str(path)) as file:
        file.write(text.encode())
