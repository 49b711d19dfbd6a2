from __future__ import annotations

import numpy as np

from tracklight.embeddings.columns import find_colour, find_label, find_sequence, make_column


def test_each_text_is_held_once() -> None:
    column = make_column("kind", ["b", "a", "b", "", "a", "b"])
    assert (list(column.values), column.rows) == (["b", "a", ""], 6)
    assert column.codes is not None and column.codes.tolist() == [0, 1, 0, 2, 1, 0]
    assert column.count_values().tolist() == [3, 2, 1]
    assert (column.distinct, column.missing) == (3, 1)
    assert list(column.iter_texts()) == ["b", "a", "b", "", "a", "b"]
    assert column.get_text(2) == "b"
    assert column.spread(np.array([False, True, False])).nonzero()[0].tolist() == [1, 4]
    assert column.numbers is None


def test_texts_that_mostly_differ_need_no_codes() -> None:
    column = make_column("n", ["1", "2.5", "", ""])
    assert column.codes is None
    assert column.get_codes().tolist() == [0, 1, 2, 3]
    assert (column.distinct, column.missing, column.get_text(1)) == (3, 2, "2.5")
    assert column.count_values().tolist() == [1, 1, 1, 1]
    assert column.numbers is not None
    np.testing.assert_array_equal(column.numbers, np.array([1, 2.5, np.nan, np.nan], np.float32))
    big = make_column("n", ["1e300", "1", "1"]).numbers
    assert big is not None and np.isinf(big[0])


def test_what_points_are_called_and_coloured_by() -> None:
    number = make_column("size", ["1", "2", "2"])
    word = make_column("word", ["a", "b", "c"])
    kind = make_column("kind", ["x", "x", "y"])
    following = make_column("__seq_next__", ["1", "2", ""])
    assert find_label([following, number, word]) == "word"
    assert find_label([number]) == "size"
    assert find_label([]) is None
    assert find_colour([following, kind, word]) == "kind"
    assert find_colour([make_column("n", [str(row) for row in range(99)])]) == "n"
    assert find_colour([]) is None
    assert find_sequence([word, following]) == "__seq_next__"
