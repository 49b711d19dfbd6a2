"""Search returns hits newest first, and no expression can block the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.text.conftest import Board, Show
from tracklight.dashboards import text
from tracklight.errors import UsageError


def search(board: Board, query: str, **fields: Any) -> Any:
    return board.request("search", query=query, tags=fields.pop("tags", ["words"]), **fields)


def test_hits_have_run_step_and_line(show: Show) -> None:
    board = show(run=[("words", "one\ntwo\nthe cat sat"), ("words", "no"), ("words", "CAT")])
    response = search(board, "cat")
    assert [(hit.step, hit.line, hit.before, hit.match, hit.after) for hit in response.hits] == [
        (2, 1, "", "CAT", ""),
        (0, 3, "the ", "cat", " sat"),
    ]
    assert (response.searched, response.texts, response.unreadable) == (3, 3, 0)


def test_case_sensitive_search(show: Show) -> None:
    board = show(run=[("words", "cat"), ("words", "CAT")])
    assert [hit.match for hit in search(board, "CAT", case_sensitive=True).hits] == ["CAT"]


def test_searches_only_the_requested_tags_and_runs(show: Show) -> None:
    board = show(a=[("words", "cat"), ("others", "cat")], b=[("words", "cat")])
    assert {(hit.run, hit.tag) for hit in search(board, "cat", runs=["a"]).hits} == {("a", "words")}
    assert len(search(board, "cat", tags=["words", "others"]).hits) == 3


def test_hits_in_arrays_have_a_position(show: Show) -> None:
    board = show(run=[("words", [["a", "b"], ["c", "a cat"]])])
    (hit,) = search(board, "cat").hits
    assert hit.position == [1, 1]


def test_query_is_literal_by_default(show: Show) -> None:
    board = show(run=[("words", "abc"), ("words", "a.c (x")])
    assert [hit.step for hit in search(board, "a.c (").hits] == [1]


def test_regex_search(show: Show) -> None:
    board = show(run=[("words", "loss 0.25\nloss 0.5 🎈 x")])
    assert [(hit.line, hit.match) for hit in search(board, r"\d\.\d+ ", regex=True).hits] == [
        (2, "0.5 ")
    ]


@pytest.mark.parametrize("query", ["(", "a{99999999999999}", "(?P<", "[z-a]"])
def test_invalid_regex_raises_usage_error(show: Show, query: str) -> None:
    with pytest.raises(UsageError, match="regular expression"):
        search(show(run=[("words", "x")]), query, regex=True)


def test_endless_regex_is_stopped(show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_MAX_SEARCH_S", 0.5)
    board = show(run=[("words", "a" * 60 + "b")])
    with pytest.raises(UsageError, match='too long on the text of "words" at step 0'):
        search(board, "(a+)+$", regex=True)


def test_returns_what_was_searched_before_the_time_limit(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_MAX_SEARCH_S", 4.0)  # enough for the first text on a busy machine
    board = show(run=[("words", "a" * 60 + "b"), ("words", "aaa")])
    response = search(board, "(a+)+$", regex=True)
    assert ([hit.step for hit in response.hits], response.searched, response.texts) == ([1], 1, 2)


def test_many_hits_are_paged(show: Show) -> None:
    board = show(run=[("words", "cat\n" * 30)] * 30)
    steps, searched = [], 0
    while True:
        response = search(board, "cat", skip=searched)
        steps += [hit.step for hit in response.hits]
        searched = response.searched
        if searched == response.texts:
            break
    assert sorted(set(steps), reverse=True) == list(range(29, -1, -1))
    assert len(steps) == 30 * 20, "at most 20 lines of each text"


def test_damaged_texts_are_counted(show: Show, tmp_path: Path) -> None:
    board = show(run=[("words", f"cat {step}") for step in range(9)])
    (path,) = (tmp_path / "run").iterdir()
    data = path.read_bytes()
    path.write_bytes(data.replace(b"cat 4", b"dog 4"))
    response = search(board, "cat")
    assert [hit.step for hit in response.hits] == [8, 7, 6, 5, 3, 2, 1, 0]
    assert (response.unreadable, response.searched) == (1, 9)


def test_empty_matches_are_ignored(show: Show) -> None:
    assert search(show(run=[("words", "xyz")]), "a*", regex=True).hits == []


def test_regex_process_is_stopped() -> None:
    matcher = text.RegexProcess("a", 0, 5, 20)
    assert matcher.match("b\nba") == [(1, 1, 2)]
    matcher.close()
    assert matcher._process.returncode is not None
