"""TeX to MathML, which browsers set without any script or font of ours."""

from __future__ import annotations

import re
from html import unescape
from xml.etree.ElementTree import Element, tostring

from latex2mathml.converter import convert_to_element

_MOST_CHARACTERS = 4000
#: A few definitions can stand for billions of words.
_DEFINES = re.compile(r"\\(?:[egx]?def|let|(?:re)?newcommand|providecommand|newenvironment)\b")


def convert_tex(tex: str, display: str) -> str | None:
    """A formula, ``inline`` or as a ``block``; None for TeX that cannot be set."""
    if len(tex) > _MOST_CHARACTERS or _DEFINES.search(tex):
        return None
    try:
        formula = convert_to_element(tex, display=display)
    except Exception:  # the library has no one error for bad TeX, and is fed with anything
        return None
    return _serialize(formula) if _resolve_references(formula) else None


def _resolve_references(formula: Element) -> bool:
    """Make characters of what the library wrote as references; False if it did not know a command.

    Its own way to write a formula out turns words such as ``<script>`` back into tags.
    """
    for element in formula.iter():
        if element.text:
            element.text = unescape(element.text)
            if element.tag in ("mi", "mo") and re.match(r"\\[A-Za-z]", element.text):
                return False
    return True


def _serialize(formula: Element) -> str:
    # Elements that end in themselves mean something else where HTML is read.
    return tostring(formula, encoding="unicode", short_empty_elements=False)
