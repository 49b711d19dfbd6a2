from __future__ import annotations

import numpy as np

from tracklight.analysis.embeddings.metadata import (
    find_color_column,
    find_label_column,
    find_sequence_column,
    make_label_column,
)


def test_repeated_texts_are_dictionary_encoded() -> None:
    column = make_label_column("kind", ["b", "a", "b", "", "a", "b"])
    assert (list(column.values), column.row_count) == (["b", "a", ""], 6)
    assert column.codes is not None and column.codes.tolist() == [0, 1, 0, 2, 1, 0]
    assert column.count_values().tolist() == [3, 2, 1]
    assert (column.distinct_count, column.missing_count) == (3, 1)
    assert list(column.get_texts()) == ["b", "a", "b", "", "a", "b"]
    assert column.get_text(2) == "b"
    assert column.expand(np.array([False, True, False])).nonzero()[0].tolist() == [1, 4]
    assert column.numbers is None


def test_mostly_distinct_texts_are_not_encoded() -> None:
    column = make_label_column("n", ["1", "2.5", "", ""])
    assert column.codes is None
    assert column.get_codes().tolist() == [0, 1, 2, 3]
    assert (column.distinct_count, column.missing_count, column.get_text(1)) == (3, 2, "2.5")
    assert column.count_values().tolist() == [1, 1, 1, 1]
    assert column.numbers is not None
    np.testing.assert_array_equal(column.numbers, np.array([1, 2.5, np.nan, np.nan], np.float32))
    big = make_label_column("n", ["1e300", "1", "1"]).numbers
    assert big is not None and np.isinf(big[0])


def test_suggested_label_color_and_sequence_columns() -> None:
    number = make_label_column("size", ["1", "2", "2"])
    word = make_label_column("word", ["a", "b", "c"])
    kind = make_label_column("kind", ["x", "x", "y", "y"])
    sequence = make_label_column("__seq_next__", ["1", "2", ""])
    assert find_label_column([sequence, number, word]) == "word"
    assert find_label_column([number]) == "size"
    assert find_label_column([]) is None
    assert find_color_column([word, sequence, kind]) == "kind"
    assert find_color_column([word]) is None
    assert find_color_column([make_label_column("n", [str(row) for row in range(99)])]) == "n"
    assert find_color_column([]) is None
    assert find_sequence_column([word, sequence]) == "__seq_next__"
