from __future__ import annotations

import pytest

from tracklight.server.static_export import parse_run_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("vit", ["vit"]),
        ("conv/{lr1e-3,lr3e-4},vit", ["conv/lr1e-3", "conv/lr3e-4", "vit"]),
        ("a/{b/{c,d},e/f}", ["a/b/c", "a/b/d", "a/e/f"]),
        (r"a\,b,c\{d\},e\;f,g\\h", ["a,b", "c{d}", "e;f", "g\\h"]),
        (r"a/\e", ["a/"]),
        ("a/{b", ["a/b"]),
        ("a\\", ["a"]),
    ],
)
def test_parses_names_as_the_page_writes_them(text: str, names: list[str]) -> None:
    assert parse_run_names(text) == names
