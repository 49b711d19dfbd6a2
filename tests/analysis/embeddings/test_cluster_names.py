from __future__ import annotations

import numpy as np

from tracklight.analysis.embeddings.metadata import make_label_column, name_clusters

GROUPS = np.array([0, 0, 0, 1, 1, 1, -1], np.int32)


def test_a_word_that_most_of_a_group_have_is_its_name() -> None:
    texts = ["red cat", "old cat", "cat 2", "big dog", "dog", "old dog", "bird"]
    assert name_clusters(GROUPS, [make_label_column("t", texts)], [[], []]) == [["cat"], ["dog"]]


def test_points_in_the_middle_stand_in_where_no_words_are_shared() -> None:
    texts = ["ant", "bee", "cow", "dog", "elk", "fox", "gnu"]
    named = name_clusters(GROUPS, [make_label_column("t", texts)], [["bee", "ant"], ["elk"]])
    assert named == [["bee", "ant"], ["elk"]]
    assert name_clusters(GROUPS, [], [[], []]) == [[], []]


def test_numbers_and_words_that_all_have_are_no_names() -> None:
    numbers = make_label_column("n", ["1", "1", "1", "2", "2", "2", "3"])
    common = make_label_column(
        "t", ["the 77", "the 77", "the 77", "the x", "the y", "the z", "the"]
    )
    assert name_clusters(GROUPS, [numbers, common], [[], []]) == [[], []]
