"""Lists of things to do: ``- [ ] open`` and ``- [x] done``."""

from __future__ import annotations

import re

from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_BOX = re.compile(r"\[([ xX])\]\s")
_SIGNS = {" ": "☐", "x": "☑", "X": "☑"}


def mark_tasks(state: StateCore) -> None:
    """A rule of the parser: the box at the start of an item becomes a sign of its own."""
    tokens = state.tokens
    for item, paragraph, line in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if (item.type, paragraph.type) == ("list_item_open", "paragraph_open") and line.children:
            first = line.children[0]
            box = _BOX.match(first.content) if first.type == "text" else None
            if box:
                item.attrSet("class", "task")
                first.content = first.content[box.end() :]
                line.children.insert(0, Token("text", "", 0, content=f"{_SIGNS[box[1]]} "))
