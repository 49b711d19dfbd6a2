"""Attributes that a writer packed into one text are split."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.analysis.graphs.graphdef import split_packed_attributes


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("", {}),
        ("{}", {}),
        ("{ name :  bias }", {"name": "bias"}),
        ("stride=[2, 2], padding=[0, 0]", {"stride": "[2, 2]", "padding": "[0, 0]"}),
        ("pads = [1, 2], mode = same", {"pads": "[1, 2]", "mode": "same"}),
        ("a=f(x, y), b={1: 2}", {"a": "f(x, y)", "b": "{1: 2}"}),
        ("no attributes", {"attr": "no attributes"}),
        ("a=1, and more", {"attr": "a=1, and more"}),
    ],
)
def test_splits_attributes_by_name(text: str, attributes: dict[str, str]) -> None:
    assert split_packed_attributes(text, "attr") == attributes


@given(st.text(alphabet="ab=:,()[]{} ", max_size=40))
def test_no_text_is_lost(text: str) -> None:
    attributes = split_packed_attributes(text, "attr")
    letters = sorted("".join([*attributes, *attributes.values()]))
    assert attributes == {"attr": text} or [it for it in letters if it in "ab"] == sorted(
        it for it in text if it in "ab"
    )
