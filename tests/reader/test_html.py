"""HTML for notebooks: data of a log is escaped, and the output stays small."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import tracklight
from tests import builders as b
from tests.small_log import PICTURE, write
from tracklight.formats import hparams, summary
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record
from tracklight.formats.values import Images
from tracklight.util import html

EVIL = '<script>alert("x")</script><img src=x onerror=alert(1)>'
ALLOWED = set("div b table thead tbody tr th td svg polyline img".split())


@pytest.fixture
def log(tmp_path: Path) -> Iterator[tracklight.Log]:
    """A log with HTML in names and texts; run names cannot contain slashes."""
    run = tmp_path / EVIL.replace("/", "")
    values = [
        summary.text(EVIL, EVIL),
        summary.images(f"image{EVIL}", [PICTURE, EVIL.encode()], 2, 2),
        hparams.build_session_start({EVIL: EVIL}),
    ]
    scalars = [b.scalar(f"loss{EVIL}", step, step % 7) for step in range(30)]
    write(run, *scalars, encode_record(encode_event(1.7e9, 0, values)))
    with tracklight.open(tmp_path, cache=False) as log:
        yield log


class Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def check(text: str) -> Elements:
    elements = Elements(text)
    assert set(elements.tags) <= ALLOWED
    assert not [name for name, _ in elements.attributes if name.startswith("on")]
    sources = [value or "" for name, value in elements.attributes if name == "src"]
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    return elements


def test_escapes_names_and_texts(log: tracklight.Log) -> None:
    (run,) = log
    view = log[run]
    shown = [
        log._repr_html_(),
        view._repr_html_(),
        view.scalar(f"loss{EVIL}")._repr_html_(),
        view.scalars()._repr_html_(),
        view.scalars().to_wide()._repr_html_(),
        view.text(EVIL)._repr_html_(),
        view.images(f"image{EVIL}")._repr_html_(),
        log.hparams()._repr_html_(),
    ]
    for text in shown:
        assert "<script>" in check(text).text or run in check(text).text
        assert len(text) < 20_000


def test_embeds_images_only(log: tracklight.Log) -> None:
    (run,) = log
    elements = check(log.images(run, f"image{EVIL}")[0]._repr_html_())

    assert elements.tags.count("img") == 1
    assert "1 more not shown" in elements.text


def test_does_not_embed_svg() -> None:
    drawing = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'

    assert check(Images(1, 1, (drawing,))._repr_html_()).tags.count("img") == 0
    assert "img" not in html.render_images([("image/svg+xml", drawing)])


def test_counts_images_beyond_the_limits() -> None:
    many = check(Images(2, 2, (PICTURE,) * 40)._repr_html_())

    assert many.tags.count("img") == 16 and "24 more not shown" in many.text
    large = PICTURE + bytes(5 << 20)
    assert len(Images(2, 2, (large,))._repr_html_()) < 1000


def test_long_tables_show_both_ends(log: tracklight.Log) -> None:
    elements = check(log.scalars()._repr_html_())

    assert elements.tags.count("tr") == 1 + 5 + 1 + 5
    assert "30 points" in elements.text


def test_truncates_long_text() -> None:
    assert len(html.render_table(("a",), [("x" * 10_000,)])) < 1000


def test_escapes_names_that_are_not_unicode() -> None:
    assert html.escape("caf\udce9").encode() == b"caf\\udce9"


@pytest.mark.parametrize("values", [[], [1.0], [np.nan, np.nan], [-1e308, 1e308], [np.inf, 1.0]])
def test_sparkline_skips_values_that_are_not_finite(values: list[float]) -> None:
    assert html.render_sparkline([float(at) for at in range(len(values))], values) == ""


def test_sparkline_has_gaps_for_missing_values() -> None:
    text = html.render_sparkline([0, 1, 2, 3, 4], [0.0, 1.0, float("nan"), 1.0, 0.0])

    assert text.count("<polyline") == 2
    assert "nan" not in text
