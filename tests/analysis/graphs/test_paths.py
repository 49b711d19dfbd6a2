from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tracklight.analysis.graphs.hierarchy import expand_scopes, get_scope, make_paths


def test_names_are_paths() -> None:
    assert make_paths(["a", "b/c", "b/d/e"]) == ["a", "b/c", "b/d/e"]


def test_a_node_that_is_a_scope_as_well_stands_inside_of_it() -> None:
    assert make_paths(["a", "a/b"]) == ["a/(a)", "a/b"]
    assert make_paths(["a/b", "a", "a/(a)"]) == ["a/b", "a/(a)", "a/(a) (2)"]


def test_equal_names_are_counted() -> None:
    assert make_paths(["a", "a", "a (2)", "a"]) == ["a", "a (2)", "a (2) (2)", "a (3)"]


def test_parts_without_a_name_get_one() -> None:
    expected = ["(no name)", "b/(no name)/c", "d\N{BROKEN BAR}e"]
    assert make_paths(["", "b//c", "d|e"]) == expected
    assert make_paths(["/a", "a/"]) == ["(no name)/a", "a/(no name)"]


def test_nothing_is_deeper_than_a_hundred_levels() -> None:
    (path,) = make_paths(["/".join(["deep"] * 5000)])
    assert path.count("/") == 100


@given(st.lists(st.text("ab/|()2 ", max_size=6), max_size=12))
def test_every_node_has_a_path_of_its_own_that_is_no_scope(names: list[str]) -> None:
    paths = make_paths(names)
    assert len(paths) == len(names)
    assert len(set(paths)) == len(paths)
    assert not set(paths) & expand_scopes(map(get_scope, paths))
    assert all(path and "|" not in path and "//" not in path for path in paths)
