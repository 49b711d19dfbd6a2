"""Addresses that stand in a text without any mark-up become links."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_ADDRESS = re.compile(r"https?://[^\s<>\"'`|\\^{}\x00-\x1f]+", re.IGNORECASE)
#: Signs that end a sentence and not an address.
_TRAILING = ".,;:!?)]*_~"


def is_web_address(address: str) -> bool:
    """Whether a link may lead there; relative ones would lead into the page itself."""
    return address.lower().startswith(("http://", "https://", "mailto:"))


def link_addresses(state: StateCore) -> None:
    """A rule of the parser: text outside of links is looked through."""
    for block in state.tokens:
        if block.type == "inline" and block.children and "://" in block.content:
            block.children = list(_iter_linked(block.children))


def _iter_linked(children: list[Token]) -> Iterator[Token]:
    depth = 0
    for token in children:
        depth += {"link_open": 1, "link_close": -1}.get(token.type, 0)
        if token.type == "text" and not depth:
            yield from _iter_parts(token)
        else:
            yield token


def _iter_parts(token: Token) -> Iterator[Token]:
    done = 0
    for match in _ADDRESS.finditer(token.content):
        address = match[0].rstrip(_TRAILING)
        if address.count("(") > address.count(")") and match[0].startswith(address + ")"):
            address += ")"
        yield _make_text(token.content[done : match.start()], token.level)
        yield Token("link_open", "a", 1, attrs={"href": address})
        yield _make_text(address, token.level + 1)
        yield Token("link_close", "a", -1)
        done = match.start() + len(address)
    yield _make_text(token.content[done:], token.level)


def _make_text(content: str, level: int) -> Token:
    return Token("text", "", 0, content=content, level=level)
