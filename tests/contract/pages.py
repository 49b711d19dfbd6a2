"""Code blocks, links and headings of the Markdown pages of the project."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])

_BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!https?://|mailto:)([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


class Block(NamedTuple):
    """A code block and its location."""

    page: Path
    number: int
    language: str
    code: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}-{self.number}"


def iter_blocks(*languages: str) -> Iterator[Block]:
    for page in PAGES:
        for number, (language, code) in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8"))):
            if language in languages:
                yield Block(page, number, language, code)


def list_links(page: Path) -> list[str]:
    """Return the links to other pages and files."""
    return _LINK.findall(_BLOCK.sub("", page.read_text(encoding="utf-8")))


def list_spans(page: Path) -> list[str]:
    """Return the code spans in the text of a page."""
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", _BLOCK.sub("", page.read_text(encoding="utf-8")))


@functools.cache
def list_anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and the site create them."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return {_make_anchor(heading) for heading in _HEADING.findall(text)}


def _make_anchor(heading: str) -> str:
    plain = re.sub(r"[^\w\- ]", "", heading.lower())
    return plain.replace(" ", "-")
