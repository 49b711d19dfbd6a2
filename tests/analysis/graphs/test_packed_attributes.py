"""Settings that a writer put into one text come apart again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.analysis.graphs.graphdef import split_packed_attributes


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", {}),
        ("{}", {}),
        ("{ name :  bias }", {"name": "bias"}),
        ("stride=[2, 2], padding=[0, 0]", {"stride": "[2, 2]", "padding": "[0, 0]"}),
        ("pads = [1, 2], mode = same", {"pads": "[1, 2]", "mode": "same"}),
        ("a=f(x, y), b={1: 2}", {"a": "f(x, y)", "b": "{1: 2}"}),
        ("no settings", {"attr": "no settings"}),
        ("a=1, and more", {"attr": "a=1, and more"}),
    ],
)
def test_settings_by_name(text: str, named: dict[str, str]) -> None:
    assert split_packed_attributes(text, "attr") == named


@given(st.text(alphabet="ab=:,()[]{} ", max_size=40))
def test_nothing_is_lost(text: str) -> None:
    taken = split_packed_attributes(text, "attr")
    letters = sorted("".join([*taken, *taken.values()]))
    assert taken == {"attr": text} or [it for it in letters if it in "ab"] == sorted(
        it for it in text if it in "ab"
    )
