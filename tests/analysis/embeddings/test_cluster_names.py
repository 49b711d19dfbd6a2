from __future__ import annotations

import numpy as np

from tracklight.analysis.embeddings.metadata import make_label_column, name_clusters

CLUSTERS = np.array([0, 0, 0, 1, 1, 1, -1], np.int32)


def test_dominant_word_names_a_cluster() -> None:
    texts = ["red cat", "old cat", "cat 2", "big dog", "dog", "old dog", "bird"]
    assert name_clusters(CLUSTERS, [make_label_column("t", texts)], [[], []]) == [["cat"], ["dog"]]


def test_central_labels_are_used_if_no_word_is_shared() -> None:
    texts = ["ant", "bee", "cow", "dog", "elk", "fox", "gnu"]
    named = name_clusters(CLUSTERS, [make_label_column("t", texts)], [["bee", "ant"], ["elk"]])
    assert named == [["bee", "ant"], ["elk"]]
    assert name_clusters(CLUSTERS, [], [[], []]) == [[], []]


def test_numbers_and_common_words_are_not_names() -> None:
    numbers = make_label_column("n", ["1", "1", "1", "2", "2", "2", "3"])
    common = make_label_column(
        "t", ["the 77", "the 77", "the 77", "the x", "the y", "the z", "the"]
    )
    assert name_clusters(CLUSTERS, [numbers, common], [[], []]) == [[], []]


def test_words_of_a_random_column_are_not_names() -> None:
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 5, 300).astype(np.int32)
    column = make_label_column("t", [f"kind{word}" for word in rng.integers(0, 50, 300)])
    central = [["kind1", "kind2"]] * 5
    assert name_clusters(clusters, [column], central) == [[]] * 5


def test_words_of_some_labels_are_names_if_they_are_significant() -> None:
    rng = np.random.default_rng(1)
    clusters = rng.integers(0, 2, 400).astype(np.int32)
    topics = ["moon", "river"]
    # A word of a third of the labels, and words of all labels.
    texts = [
        f"the {topics[cluster] if rng.random() < 0.3 else 'rest'} {'xyz'[rng.integers(3)] * 3}"
        for cluster in clusters
    ]
    named = name_clusters(clusters, [make_label_column("t", texts)], [[], []])
    assert named == [["moon"], ["river"]]
