"""Rendered text agrees with TensorBoard, except for deliberate differences.

Each of these has a test: arrays with more than two dimensions are complete, bare URLs are links,
math is rendered, images are links, words such as ``<unk>`` are kept, and raw text is never
interpreted as HTML.
"""

from __future__ import annotations

import warnings
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from tracklight.dashboards.text import TextRequest, render_texts

with warnings.catch_warnings():
    # The HTML sanitizer bundled with TensorBoard issues a deprecation warning.
    warnings.simplefilter("ignore", DeprecationWarning)
    from tensorboard.plugins.text.text_plugin import text_array_to_html

SAMPLES = [
    "plain words",
    "**bold** and *thin* and `code`",
    "# Title\n\nand a line\n\n- one\n- two\n\n1. first\n2. second",
    "> said before\n\nand after",
    "[a link](https://example.test/ 'title') and <https://example.test/>",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "```\nx < y & z\n```",
    "a & b < c > d \"e\" 'f'",
    "über, naïve, 漢字, 🎈",
    "line one\nline two\n\nparagraph two",
    "<em>thin</em> and <strong>bold</strong>",
    "",
]


class Reader(HTMLParser):
    """Extracts the visible text and the cells of the outermost table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words = ""
        self.rows: list[list[str]] = []
        self.depth = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[Any]) -> None:
        self.depth += tag == "table"
        if self.depth == 1 and tag == "tr":
            self.rows.append([])
        if self.depth == 1 and tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "table"
        self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        self.words += data
        if self.depth and self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


def squeeze(text: str) -> str:
    return " ".join(text.split())


def read_ours(texts: Any) -> list[str]:
    response = render_texts(np.asarray(texts, object), TextRequest("run", "tag", 0))
    return [squeeze(Reader(cell.html or "").words) for cell in response.cells]


@pytest.mark.parametrize("text", SAMPLES)
def test_single_text_agrees(text: str) -> None:
    theirs = text_array_to_html(np.array(text.encode(), object), True)
    assert read_ours(text) == [squeeze(Reader(theirs).words)]


@pytest.mark.parametrize("shape", [(12,), (1,), (4, 3), (3, 4), (12, 1)])
def test_array_has_the_same_cells(shape: tuple[int, ...]) -> None:
    plain = [sample for sample in SAMPLES if "|" not in sample]
    texts = np.resize(np.array(plain, object), shape)
    encoded = np.array([text.encode() for text in texts.flat], object).reshape(shape)
    rows = Reader(text_array_to_html(encoded, True)).rows
    assert read_ours(texts) == [squeeze(cell) for row in rows for cell in row]
    columns = render_texts(texts, TextRequest("run", "tag", 0)).columns
    assert [len(row) for row in rows] == [columns] * len(rows)


def test_keeps_all_texts_of_a_3d_array() -> None:
    cube = np.array([str(n) for n in range(24)], object).reshape(2, 3, 4)
    theirs = Reader(text_array_to_html(cube, True)).rows
    assert [squeeze(cell) for row in theirs for cell in row] == [str(n) for n in range(12)]
    seen = [
        cell.text
        for place in "01"
        for cell in render_texts(cube, TextRequest("run", "tag", 0, None, "raw", place)).cells
    ]
    assert seen == cube.ravel().tolist()


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        ("so <unk> it is", "so &lt;unk&gt; it is", "so &lt;unk&gt; it is"),
        ("![seen](http://e.test/a.png)", 'href="http://e.test/a.png"', 'src="http://e.test/a.png"'),
        ("see http://e.test now", 'href="http://e.test"', "see http://e.test now"),
        ("$x^2$", "<msup>", "$x^2$"),
        ("~~gone~~", "<s>gone</s>", "~~gone~~"),
    ],
)
def test_known_differences(text: str, ours: str, theirs: str) -> None:
    (cell,) = render_texts(np.array(text, object), TextRequest("run", "tag", 0)).cells
    assert ours in (cell.html or "")
    assert theirs in text_array_to_html(np.array(text, object), True)


def test_raw_text_is_not_html() -> None:
    text = "<em>x</em>\n  y"
    (cell,) = render_texts(np.array(text, object), TextRequest("run", "tag", 0, None, "raw")).cells
    assert (cell.html, cell.text) == (None, text)
    assert text_array_to_html(np.array(text, object), False) == text, "which a browser lays out"
