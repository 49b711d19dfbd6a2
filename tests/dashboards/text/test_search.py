"""What was logged is found, newest first, and no expression can hold the server up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.dashboards.text.conftest import Board, Show
from tracklight.dashboards.text import texts
from tracklight.errors import UsageError


def find(board: Board, query: str, **fields: Any) -> Any:
    return board.ask("search", query=query, tags=fields.pop("tags", ["words"]), **fields)


def test_hits_say_where_they_are(show: Show) -> None:
    board = show(run=[("words", "one\ntwo\nthe cat sat"), ("words", "no"), ("words", "CAT")])
    answer = find(board, "cat")
    assert [(hit.step, hit.line, hit.before, hit.match, hit.after) for hit in answer.hits] == [
        (2, 1, "", "CAT", ""),
        (0, 3, "the ", "cat", " sat"),
    ]
    assert (answer.searched, answer.texts, answer.unreadable) == (3, 3, 0)


def test_upper_and_lower_case(show: Show) -> None:
    board = show(run=[("words", "cat"), ("words", "CAT")])
    assert [hit.match for hit in find(board, "CAT", case=True).hits] == ["CAT"]


def test_only_the_tags_and_runs_that_are_asked_for(show: Show) -> None:
    board = show(a=[("words", "cat"), ("others", "cat")], b=[("words", "cat")])
    assert {(hit.run, hit.tag) for hit in find(board, "cat", runs=["a"]).hits} == {("a", "words")}
    assert len(find(board, "cat", tags=["words", "others"]).hits) == 3


def test_in_an_array_the_place_is_told(show: Show) -> None:
    board = show(run=[("words", [["a", "b"], ["c", "a cat"]])])
    (hit,) = find(board, "cat").hits
    assert hit.place == [1, 1]


def test_words_are_no_expression(show: Show) -> None:
    board = show(run=[("words", "abc"), ("words", "a.c (x")])
    assert [hit.step for hit in find(board, "a.c (").hits] == [1]


def test_an_expression(show: Show) -> None:
    board = show(run=[("words", "loss 0.25\nloss 0.5 🎈 x")])
    assert [(hit.line, hit.match) for hit in find(board, r"\d\.\d+ ", regex=True).hits] == [
        (2, "0.5 ")
    ]


@pytest.mark.parametrize("query", ["(", "a{99999999999999}", "(?P<", "[z-a]"])
def test_what_is_no_expression_gets_a_sentence(show: Show, query: str) -> None:
    with pytest.raises(UsageError, match="no regular expression"):
        find(show(run=[("words", "x")]), query, regex=True)


def test_an_expression_that_never_ends_is_ended(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "_MAX_SEARCH_S", 0.5)
    board = show(run=[("words", "a" * 60 + "b")])
    with pytest.raises(UsageError, match='too long on the text of "words" at step 0'):
        find(board, "(a+)+$", regex=True)


def test_what_was_searched_before_the_end_is_told(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "_MAX_SEARCH_S", 0.5)
    board = show(run=[("words", "a" * 60 + "b"), ("words", "aaa")])
    answer = find(board, "(a+)+$", regex=True)
    assert ([hit.step for hit in answer.hits], answer.searched, answer.texts) == ([1], 1, 2)


def test_many_hits_come_in_parts(show: Show) -> None:
    board = show(run=[("words", "cat\n" * 30)] * 30)
    steps, searched = [], 0
    while True:
        answer = find(board, "cat", skip=searched)
        steps += [hit.step for hit in answer.hits]
        searched = answer.searched
        if searched == answer.texts:
            break
    assert sorted(set(steps), reverse=True) == list(range(29, -1, -1))
    assert len(steps) == 30 * 20, "so many lines of each text are told"


def test_a_text_that_is_damaged_by_now_is_counted(show: Show, tmp_path: Path) -> None:
    board = show(run=[("words", f"cat {step}") for step in range(9)])
    (path,) = (tmp_path / "run").iterdir()
    data = path.read_bytes()
    path.write_bytes(data.replace(b"cat 4", b"dog 4"))
    answer = find(board, "cat")
    assert [hit.step for hit in answer.hits] == [8, 7, 6, 5, 3, 2, 1, 0]
    assert (answer.unreadable, answer.searched) == (1, 9)


def test_an_empty_match_is_none(show: Show) -> None:
    assert find(show(run=[("words", "xyz")]), "a*", regex=True).hits == []


def test_no_process_is_left_behind() -> None:
    matcher = texts.RegexProcess("a", 0, 5, 20)
    assert matcher.match("b\nba") == [(1, 1, 2)]
    matcher.close()
    assert matcher._process.returncode is not None
