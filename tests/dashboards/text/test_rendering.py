"""Texts and arrays of texts of any rank are rendered completely."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dashboards.text.conftest import Show
from tracklight.analysis.media import ValueRequest
from tracklight.errors import LogError, UsageError


def test_plain_text_is_one_cell(show: Show) -> None:
    board = show(run=[("words", "**bold**")])
    (value,) = board.values("words")
    response = board.render(value)
    assert (response.shape, response.characters, response.columns) == ([], 8, 1)
    assert response.cells[0].html == "<p><strong>bold</strong></p>\n"


def test_raw_form_is_the_logged_text(show: Show) -> None:
    text = "**bold**\n  <b>&amp;\ttab\r\n\n"
    board = show(run=[("words", text)])
    (cell,) = board.render(board.values("words")[0], form="raw").cells
    assert (cell.html, cell.text, cell.notes) == (None, text, [])


def test_list_is_one_column(show: Show) -> None:
    board = show(run=[("words", ["*a*", "b", "c"])])
    response = board.render(board.values("words")[0])
    assert (response.shape, response.columns) == ([3], 1)
    assert [cell.html for cell in response.cells] == [
        "<p><em>a</em></p>\n",
        "<p>b</p>\n",
        "<p>c</p>\n",
    ]


def test_matrix_is_a_table(show: Show) -> None:
    board = show(run=[("words", [["a", "b", "c"], ["d", "e", "f"]])])
    response = board.render(board.values("words")[0], form="raw")
    assert (response.shape, response.columns) == ([2, 3], 3)
    assert [cell.text for cell in response.cells] == list("abcdef")


def test_any_table_of_an_array_can_be_requested(show: Show) -> None:
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
def test_unknown_table_raises_usage_error(show: Show, fixed: str) -> None:
    board = show(run=[("words", np.full((2, 3, 2, 2), "x", object))])
    with pytest.raises(UsageError, match="there is no table"):
        board.render(board.values("words")[0], fixed=fixed)


def test_large_table_is_paged(show: Show) -> None:
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
def test_empty_array(show: Show, shape: tuple[int, ...]) -> None:
    board = show(run=[("words", np.empty(shape, object))])
    values = board.values("words")
    response = board.render(values[0])
    assert (response.shape, response.cells, response.characters) == (list(shape), [], 0)


def test_huge_text_is_truncated_and_not_rendered(show: Show) -> None:
    board = show(run=[("words", "a " * 1_000_000)])
    (cell,) = board.render(board.values("words")[0]).cells
    assert cell.html is None
    assert len(cell.text) == 400_000
    assert [note.text for note in cell.notes] == [
        "Longer than 200,000 characters: shown as logged.",
        "The first 400,000 of 2,000,000 characters are shown. Download the text to see all.",
    ]


def test_table_of_huge_texts_is_bounded(show: Show) -> None:
    board = show(run=[("words", ["x" * 300_000] * 30)])
    cells = board.render(board.values("words")[0]).cells
    assert sum(len(cell.text) for cell in cells) <= 1_000_000


def test_unknown_texts_raise_errors(show: Show) -> None:
    board = show(run=[("words", "x")])
    with pytest.raises(LogError, match="no longer has this value"):
        board.render(ValueRequest("run", "words", 5))
