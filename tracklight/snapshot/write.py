"""Writes a copy of a board, as a folder or as one file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tracklight.errors import UsageError
from tracklight.export import open_output
from tracklight.snapshot import page
from tracklight.snapshot.contents import Contents

#: A browser opens a larger file, but nobody likes to wait for it.
_LARGEST_FILE_BYTES = 100 << 20

Tell = Callable[[int], None]


def write_copy(contents: Contents, target: Path, tell: Tell = lambda parts: None) -> None:
    """Copy into the folder ``target``, or into one file if it is named so; ``tell`` hears of
    each part that is done."""
    if target.suffix.lower() in (".html", ".htm"):
        _write_file(contents, target, tell)
    else:
        _write_folder(contents, target, tell)


def _write_folder(contents: Contents, target: Path, tell: Tell) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} is there already; give a directory that is new or empty")
    (target / "data").mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    copied = set()
    for number, (dashboard, address, answer) in enumerate(contents.iter_parts()):
        files[address] = f"data/{dashboard}-{number}.js"
        copied.add(dashboard)
        _write(target / files[address], page.write_part(address, page.pack(answer)))
        tell(1)
    _write(target / "data/board.js", page.write_head(contents.head(copied), files))
    for name in ("board.js", "board.css"):
        _write(target / name, page.read_program(name))
    scripts = map(page.link_script, ("data/board.js", "board.js"))
    _write(target / "index.html", page.make_page(page.link_styles("board.css"), scripts))


def _write_file(contents: Contents, target: Path, tell: Tell) -> None:
    parts: list[str] = []
    copied = set()
    size_bytes = 0
    for dashboard, address, answer in contents.iter_parts():
        parts.append(page.write_part(address, page.pack(answer)))
        copied.add(dashboard)
        size_bytes += len(parts[-1])
        if size_bytes > _LARGEST_FILE_BYTES:
            raise UsageError(
                f"this board takes more than {_LARGEST_FILE_BYTES >> 20} MB; copy it into a "
                "directory, or choose fewer runs or tags"
            )
        tell(1)
    scripts = [page.write_head(contents.head(copied), {}), *parts, page.read_program("board.js")]
    styles = page.embed_styles(page.read_program("board.css"))
    _write(target, page.make_page(styles, map(page.embed_script, scripts)))


def _write(path: Path, text: str) -> None:
    with open_output(str(path)) as file:
        file.write(text.encode())
