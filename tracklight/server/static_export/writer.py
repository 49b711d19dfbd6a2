"""Write a static export, as a folder or as one HTML file.

A page opened from a file must not fetch anything and must not load modules; it may load plain
scripts. So all data is in scripts, and no name from a log may end one of them.
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
from tracklight.server.page import PAGE_DIR
from tracklight.server.responses import encode_columns
from tracklight.server.static_export.contents import ExportContents

#: Browsers open larger files, but slowly.
_MAX_FILE_BYTES = 100 << 20
#: Images and audio are already compressed, so they are only stored.
_DEFLATE_LEVEL = 6
_STORE_LEVEL = 0

_BOOTSTRAP_SCRIPT = (
    "var tracklight={packed:{},files:{},put:function(at,data){this.packed[at]=data},head:null};"
)
#: Characters that could end a script, begin a comment, or end a line in JavaScript but not in JSON.
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}

#: Called with the number of parts that were just written.
ProgressCallback = Callable[[int], None]


def write_static_export(
    contents: ExportContents, target: Path, on_progress: ProgressCallback = lambda parts: None
) -> None:
    """Write an export into one file, if ``target`` ends in ``.html``, or into a new folder.

    Raises:
        UsageError: The folder is not empty, or the file would be too large.
        LogError: The page of this installation was not built.
    """
    if target.suffix.lower() in (".html", ".htm"):
        _write_file(contents, target, on_progress)
    else:
        _write_folder(contents, target, on_progress)


def _write_folder(contents: ExportContents, target: Path, on_progress: ProgressCallback) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} already exists; choose a new or empty directory")
    (target / "data").mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    exported = set()
    for number, (dashboard, url, response) in enumerate(contents.iter_parts()):
        files[url] = f"data/{dashboard}-{number}.js"
        exported.add(dashboard)
        _write_text(target / files[url], build_part_script(url, pack_response(response)))
        on_progress(1)
    _write_text(target / "data/board.js", build_head_script(contents.build_head(exported), files))
    for name in ("board.js", "board.css"):
        _write_text(target / name, read_asset(name))
    scripts = map(link_script, ("data/board.js", "board.js"))
    _write_text(target / "index.html", build_html(link_styles("board.css"), scripts))


def _write_file(contents: ExportContents, target: Path, on_progress: ProgressCallback) -> None:
    _write_text(target, build_page(contents, on_progress))


def build_page(contents: ExportContents, on_progress: ProgressCallback = lambda parts: None) -> str:
    """Return the HTML of an export in one file.

    Raises:
        UsageError: The file would be too large.
        LogError: The page of this installation was not built.
    """
    parts: list[str] = []
    exported = set()
    size_bytes = 0
    for dashboard, url, response in contents.iter_parts():
        parts.append(build_part_script(url, pack_response(response)))
        exported.add(dashboard)
        size_bytes += len(parts[-1])
        if size_bytes > _MAX_FILE_BYTES:
            raise UsageError(
                "export.too_large",
                "the export is larger than {max_mb} MB; export to a directory, or select fewer "
                "runs or tags",
                max_mb=_MAX_FILE_BYTES >> 20,
            )
        on_progress(1)
    head = build_head_script(contents.build_head(exported), {})
    styles = embed_styles(read_asset("board.css"))
    scripts = [head, *parts, read_asset("board.js")]
    return build_html(styles, map(embed_script, scripts))


def _write_text(path: Path, text: str) -> None:
    with open_output(str(path)) as file:
        file.write(text.encode())


# ---- the page


def read_asset(name: str, page_dir: Path = PAGE_DIR) -> str:
    """Read a file of the page that was built for static exports."""
    path = page_dir / "copy" / name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LogError(
            "export.page_not_built",
            "cannot export: the web page of this installation was not built; reinstall tracklight",
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


def embed_script(script: str) -> str:
    """Embed a script. What is escaped occurs only in its strings and regular expressions."""
    safe = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return f"<script>{safe}</script>"


def embed_styles(styles: str) -> str:
    safe = styles.replace("</style", "<\\/style")
    return f"<style>{safe}</style>"


# ---- data


class ExportedFile(msgspec.Struct):
    """A `Blob` in an export; the page turns it into a file again."""

    media_type: str
    content: NDArray[np.uint8]


def build_head_script(head: object, files: dict[str, str]) -> str:
    """Build the script that is loaded first; ``files`` has the file of each URL."""
    assignments = f"tracklight.files={escape_json(files)};tracklight.head={escape_json(head)};"
    return _BOOTSTRAP_SCRIPT + assignments


def build_part_script(url: str, packed: str) -> str:
    return f"tracklight.put({escape_json(url)},{escape_json(packed)});"


def pack_response(response: object) -> str:
    """Encode a response with its columns as deflated bytes in Base64."""
    level = _DEFLATE_LEVEL
    if isinstance(response, Blob):
        level = _DEFLATE_LEVEL if response.media_type.startswith("text/") else _STORE_LEVEL
        response = ExportedFile(response.media_type, np.frombuffer(response.content, np.uint8))
    compressor = zlib.compressobj(level, wbits=-15)
    data = compressor.compress(encode_columns(response)) + compressor.flush()
    return base64.b64encode(data).decode("ascii")


def escape_json(value: object) -> str:
    """Encode JSON that is safe in a script within HTML, whatever names it contains."""
    text = msgspec.json.encode(value).decode("utf-8")
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text
