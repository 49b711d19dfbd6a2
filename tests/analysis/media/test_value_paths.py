"""Paths of values are encoded like ``encodeURIComponent`` does in the page."""

from __future__ import annotations

import pytest

from tracklight.analysis.media import ValueRequest, steps_path, value_path


def test_fields_are_in_order() -> None:
    path = value_path("thumbnail", ValueRequest("a", "b", 3, -7), part=1, size=256)
    assert path == "thumbnail?run=a&tag=b&index=3&fingerprint=-7&part=1&size=256"


def test_fingerprint_is_optional() -> None:
    assert value_path("about", ValueRequest("a", "b", 0)) == "about?run=a&tag=b&index=0"


@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        ("a/b c", "a%2Fb%20c"),
        ("!'()*-._~", "!'()*-._~"),
        ("ü&=+?#%", "%C3%BC%26%3D%2B%3F%23%25"),
        ("\U0001f600", "%F0%9F%98%80"),
    ],
)
def test_names_are_encoded_like_in_a_browser(name: str, encoded: str) -> None:
    assert steps_path(name) == f"steps/{encoded}"
    assert value_path("v", ValueRequest(name, name, 0)) == f"v?run={encoded}&tag={encoded}&index=0"
