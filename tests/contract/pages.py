"""The Markdown pages of the project, taken apart as far as tests look at them."""

from __future__ import annotations

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
    """A block of code, and where it stands."""

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
    """Those to other pages and files, as they are written."""
    return _LINK.findall(_BLOCK.sub("", page.read_text(encoding="utf-8")))


def list_anchors(page: Path) -> set[str]:
    """What a link can lead to in a page: its headings, as GitHub and the site spell them."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    return {_spell(heading) for heading in _HEADING.findall(text)}


def _spell(heading: str) -> str:
    plain = re.sub(r"[^\w\- ]", "", heading.lower())
    return plain.replace(" ", "-")
