"""Sizes in style sheets of the page come from ``tokens.css``."""

from __future__ import annotations

import re

import pytest

from tests.contract.pages import ROOT

SOURCES = ROOT / "web" / "src"
DECLARATIONS = re.compile(
    r"(?:^|[\s;{])(padding|margin|gap|font-size|z-index|(?:row|column)-gap|(?:padding|margin)-[a-z-]+"
    r"|border(?:-[a-z]+)*-radius):\s*([^;{}]*);"
)
#: Lengths for which there is a token. Borders of one pixel, and offsets of less than a token, have
#: none; neither have large widths.
LENGTHS = re.compile(r"(?<![\w.])(?:[2-9]|1\d|2[0-4])px")
#: Units of a drawing, not pixels.
EXCEPTIONS = {("DonutChart.svelte", "font-size", "7px")}


def list_fixed_sizes(name: str, text: str) -> list[str]:
    if name.endswith(".svelte"):
        text = text.partition("<style")[2]
    return [
        f"{name}: {property_}: {value}"
        for property_, value in DECLARATIONS.findall(text)
        if (re.search(r"\d", value) if property_ == "z-index" else LENGTHS.search(value))
        and (name, property_, value) not in EXCEPTIONS
    ]


def test_sizes_come_from_tokens() -> None:
    paths = [path for path in SOURCES.rglob("*") if path.suffix in (".svelte", ".css")]
    checked = [p for p in paths if p.name != "tokens.css" and "gallery" not in p.parts]
    assert len(checked) > 300
    assert [
        problem
        for path in checked
        for problem in list_fixed_sizes(path.name, path.read_text("utf-8"))
    ] == []


@pytest.mark.parametrize(
    "rule", ["padding: 0 10px;", "border-radius: 4px;", "margin-left: -8px;", "z-index: 3;"]
)
def test_fixed_sizes_are_found(rule: str) -> None:
    assert list_fixed_sizes("page.css", f"p {{ {rule} }}") == [f"page.css: {rule[:-1]}"]
    assert list_fixed_sizes("Page.svelte", rule) == []
