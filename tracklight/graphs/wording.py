"""Takes settings apart that a writer put into one text.

PyTorch writes ``{ name :  bias }``, which was a dict whose quotes it took away; tracklight writes
``stride=[2, 2], padding=[0, 0]`` and ``pads = [1, 2], mode = same``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PAIR = re.compile(r"\s*([\w.]+)\s*[=:]\s*(.*?)\s*", re.DOTALL)
_OPEN, _CLOSED = "([{", ")]}"
_LONGEST = 20_000


def take_apart(text: str, key: str) -> dict[str, str]:
    """Settings by name; what does not come apart stays whole under ``key``."""
    plain = text.strip()
    if plain.startswith("{") and plain.endswith("}"):
        plain = plain[1:-1].strip()
    if not plain:
        return {}
    pairs = [_PAIR.fullmatch(part) for part in _iter_parts(plain)] if len(plain) < _LONGEST else []
    named = {pair[1]: pair[2] for pair in pairs if pair}
    return named if pairs and len(named) == len(pairs) else {key: text}


def _iter_parts(text: str) -> Iterator[str]:
    """What stands between commas that are in no brackets."""
    depth = start = 0
    for at, sign in enumerate(text):
        if sign in _OPEN:
            depth += 1
        elif sign in _CLOSED:
            depth -= 1
        elif sign == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]
