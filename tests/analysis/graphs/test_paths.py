"""Names of nodes are converted to unique paths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracklight.analysis.graphs.hierarchy import expand_scopes, get_scope, make_paths


def test_plain_names_are_paths() -> None:
    assert make_paths(["a", "b/c", "b/d/e"]) == ["a", "b/c", "b/d/e"]


def test_node_with_the_name_of_a_scope_is_moved_inside() -> None:
    assert make_paths(["a", "a/b"]) == ["a/(a)", "a/b"]
    assert make_paths(["a/b", "a", "a/(a)"]) == ["a/b", "a/(a)", "a/(a) (2)"]


def test_duplicate_names_are_numbered() -> None:
    assert make_paths(["a", "a", "a (2)", "a"]) == ["a", "a (2)", "a (2) (2)", "a (3)"]


def test_empty_parts_get_a_name() -> None:
    expected = ["(no name)", "b/(no name)/c", "d\N{BROKEN BAR}e"]
    assert make_paths(["", "b//c", "d|e"]) == expected
    assert make_paths(["/a", "a/"]) == ["(no name)/a", "a/(no name)"]


def test_depth_is_limited_to_100() -> None:
    (path,) = make_paths(["/".join(["deep"] * 5000)])
    assert path.count("/") == 100


@given(st.lists(st.text("ab/|()2 ", max_size=6), max_size=12))
def test_paths_are_unique_and_no_scopes(names: list[str]) -> None:
    paths = make_paths(names)
    assert len(paths) == len(names)
    assert len(set(paths)) == len(paths)
    assert not set(paths) & expand_scopes(map(get_scope, paths))
    assert all(path and "|" not in path and "//" not in path for path in paths)
