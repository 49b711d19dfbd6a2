"""Strings in arrays of any rank are laid out, and none of them is left out."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dashboards.text.conftest import Show
from tracklight.analysis.media.values import ValueRequest
from tracklight.errors import LogError, UsageError


def test_a_plain_text_is_one_cell(show: Show) -> None:
    board = show(run=[("words", "**bold**")])
    (value,) = board.values("words")
    answer = board.render(value)
    assert (answer.shape, answer.characters, answer.columns) == ([], 8, 1)
    assert answer.cells[0].html == "<p><strong>bold</strong></p>\n"


def test_as_logged_is_what_was_logged(show: Show) -> None:
    text = "**bold**\n  <b>&amp;\ttab\r\n\n"
    board = show(run=[("words", text)])
    (cell,) = board.render(board.values("words")[0], form="raw").cells
    assert (cell.html, cell.text, cell.note) == (None, text, None)


def test_a_list_is_one_column(show: Show) -> None:
    board = show(run=[("words", ["*a*", "b", "c"])])
    answer = board.render(board.values("words")[0])
    assert (answer.shape, answer.columns) == ([3], 1)
    assert [cell.html for cell in answer.cells] == [
        "<p><em>a</em></p>\n",
        "<p>b</p>\n",
        "<p>c</p>\n",
    ]


def test_a_table_is_a_table(show: Show) -> None:
    board = show(run=[("words", [["a", "b", "c"], ["d", "e", "f"]])])
    answer = board.render(board.values("words")[0], form="raw")
    assert (answer.shape, answer.columns) == ([2, 3], 3)
    assert [cell.text for cell in answer.cells] == list("abcdef")


def test_every_table_of_an_array_can_be_asked_for(show: Show) -> None:
    texts = np.array([f"{n}" for n in range(2 * 3 * 2 * 2)], object).reshape(2, 3, 2, 2)
    board = show(run=[("words", texts)])
    (value,) = board.values("words")
    seen = [
        cell.text
        for first in range(2)
        for second in range(3)
        for cell in board.render(value, form="raw", fixed=f"{first},{second}").cells
    ]
    assert seen == texts.ravel().tolist()
    assert board.render(value, form="raw").fixed == [0, 0]


@pytest.mark.parametrize("fixed", ["2,0", "0", "0,0,0", "a,b", "-1,0", "0,99999999999999999999"])
def test_a_table_that_is_not_there(show: Show, fixed: str) -> None:
    board = show(run=[("words", np.full((2, 3, 2, 2), "x", object))])
    with pytest.raises(UsageError, match="no such table"):
        board.render(board.values("words")[0], fixed=fixed)


def test_a_large_table_comes_in_parts(show: Show) -> None:
    texts = np.array([f"{n}" for n in range(120 * 45)], object).reshape(120, 45)
    board = show(run=[("words", texts)])
    (value,) = board.values("words")
    seen = np.empty((120, 45), object)
    for row in range(0, 120, 50):
        for column in range(0, 45, 20):
            part = board.render(value, form="raw", row=row, column=column)
            cells = np.array([cell.text for cell in part.cells], object).reshape(-1, part.columns)
            seen[row : row + len(cells), column : column + part.columns] = cells
    np.testing.assert_array_equal(seen, texts)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 2)])
def test_an_array_of_nothing(show: Show, shape: tuple[int, ...]) -> None:
    board = show(run=[("words", np.empty(shape, object))])
    values = board.values("words")
    answer = board.render(values[0])
    assert (answer.shape, answer.cells, answer.characters) == (list(shape), [], 0)


def test_a_giant_is_shown_as_logged_and_its_start_only(show: Show) -> None:
    board = show(run=[("words", "a " * 1_000_000)])
    (cell,) = board.render(board.values("words")[0]).cells
    assert cell.html is None
    assert len(cell.text) == 400_000
    assert cell.note == (
        "Longer than 200,000 characters: shown as logged. "
        "The first 400,000 of 2,000,000 characters; a download has them all."
    )


def test_a_table_of_giants_is_bounded_as_a_whole(show: Show) -> None:
    board = show(run=[("words", ["x" * 300_000] * 30)])
    cells = board.render(board.values("words")[0]).cells
    assert sum(len(cell.text) for cell in cells) <= 1_000_000


def test_what_the_log_does_not_have(show: Show) -> None:
    board = show(run=[("words", "x")])
    with pytest.raises(LogError, match="no longer has this value"):
        board.render(ValueRequest("run", "words", 5))
