"""Rendered Markdown contains allowed HTML only; tests/web checks it in browsers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile_markdown import VECTORS
from tracklight.analysis.media import render_markdown
from tracklight.analysis.media.markdown_html import (
    HIGHLIGHT_CLASSES,
    KNOWN_TAGS,
    LANGUAGES,
    MATH_ATTRIBUTES,
    MATH_TAGS,
    sanitize,
)

_CLASSES = {"image", "tex", "task", "left", "center", "right", *HIGHLIGHT_CLASSES}
_CLASSES |= {f"language-{name}" for name in LANGUAGES}
_ATTRIBUTES = {"href", "title", "class", "rel", "target", "start", *MATH_ATTRIBUTES}


class Inspector(HTMLParser):
    """Collect tags and attributes that are not allowed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.violations: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in KNOWN_TAGS | MATH_TAGS | {"s"}:
            self.violations.append(f"<{tag}>")
        self.violations += _iter_faults(attrs)

    def handle_comment(self, data: str) -> None:
        self.violations.append(f"<!--{data}-->")

    def handle_decl(self, decl: str) -> None:
        self.violations.append(f"<!{decl}>")

    handle_pi = unknown_decl = handle_decl


def _iter_faults(attrs: list[tuple[str, str | None]]) -> Iterator[str]:
    for name, value in attrs:
        if name not in _ATTRIBUTES:
            yield f"{name}={value}"
        if name == "href" and not (value or "").startswith(("http://", "https://", "mailto:")):
            yield f"{name}={value}"
        if name == "class" and not set((value or "").split()) <= _CLASSES:
            yield f"{name}={value}"


@pytest.mark.parametrize("text", VECTORS)
def test_attack_vectors_are_harmless(text: str) -> None:
    html = render_markdown(text).html
    assert html is not None
    assert Inspector(html).violations == []


@pytest.mark.parametrize("text", VECTORS)
def test_sanitizer_alone_removes_attack_vectors(text: str) -> None:
    assert Inspector(sanitize(text)).violations == []


@pytest.mark.slow
@settings(max_examples=300)
@given(st.text())
def test_renders_arbitrary_text(text: str) -> None:
    rendered = render_markdown(text)
    assert rendered.html is not None, rendered.note
    assert Inspector(rendered.html).violations == []


_PIECES = st.sampled_from(
    "<b> </b> <script> <unk> <a href= </a> <pre> <table> <td> [ ]( ) ![ * ** _ ~~ ` ``` $ $$ | - >"
    " # \\begin{align} \\end{align} \\frac \\text{ { } & &lt; javascript: https://x.y \n \n\n \\ \0"
    " x '"
    ' " = onclick=hit() <!-- --> <math> <svg> ```python'.split(" ")
)


@settings(max_examples=500)
@given(st.lists(_PIECES, max_size=40).map(" ".join) | st.lists(_PIECES, max_size=40).map("".join))
def test_arbitrary_mixtures_are_safe(text: str) -> None:
    rendered = render_markdown(text)
    assert rendered.html is not None, rendered.note
    assert Inspector(rendered.html).violations == []


_PATHOLOGICAL = {
    "brackets": "[" * 100_000,
    "pairs of brackets": "[" * 50_000 + "]" * 50_000,
    "emphasis": "*a_ " * 30_000,
    "strong emphasis": "**" * 40_000 + "a" + "**" * 40_000,
    "quotes": ">" * 90_000,
    "lists": "".join("  " * i + "- x\n" for i in range(400)),
    "table": "|a" * 1000 + "|\n" + "|-" * 1000 + "|\n" + ("|x" * 1000 + "|\n") * 80,
    "backticks": "".join("e" + "`" * i for i in range(600)),
    "links": "[a](<b" * 30_000,
    "pictures": "![[" * 60_000,
    "tags": "<a " * 60_000,
    "comments": "<!--" * 45_000,
    "formulas": "$a" * 90_000,
    "blocks of formulas": "$$a\n" * 40_000,
    "environments": r"\begin{align}" * 14_000,
    "definitions": "[a]: b\n" * 25_000,
    "strikes": "~~a" * 60_000,
    "addresses": "http://" * 25_000,
    "code": "```python\n" + "'a\n" * 16_000,
    "a long line of code": "```python\n" + "(" * 190_000,
    "nested TeX": "$" + "{" * 1900 + "}" * 1900 + "$",
    "TeX that defines": r"$\def\a{\a\a}\a$",
    "a giant": "x" * 50_000_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", _PATHOLOGICAL.values(), ids=_PATHOLOGICAL.keys())
def test_pathological_texts_end_in_time(text: str) -> None:
    start = time.thread_time()
    rendered = render_markdown(text)
    assert time.thread_time() - start < 10, "a generous limit"
    assert (rendered.html is None) == (rendered.note is not None)
