from __future__ import annotations

import numpy as np
import pytest

from tests.dashboards.projector.conftest import NAMES, ROWS, Board
from tracklight.analysis.embeddings.projections.neighbors import DistanceMetric
from tracklight.dashboards.projector.schemas import (
    ClusterRequest,
    EmbeddingRequest,
    HdbscanMethod,
    JobRequest,
    KmeansMethod,
    MatchRequest,
    NeighborsRequest,
    ProjectionRequest,
    SearchRequest,
    UploadRequest,
)
from tracklight.errors import UsageError

FEW = bytes([0b1111_0000, 0b0000_0011])


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_neighbours_are_those_of_the_vectors(board: Board, metric: DistanceMetric) -> None:
    trees = board.find("trees").id
    answer = board.projector.neighbors(NeighborsRequest(trees, row=8, metric=metric, count=5))
    assert answer.exact
    assert answer.rows.dtype == np.int32 and 8 not in answer.rows
    assert (np.diff(answer.distances) >= 0).all()
    if metric != "dot":
        assert set(answer.rows % 4) == {0}


def test_neighbours_of_several_are_those_of_their_middle(board: Board) -> None:
    trees = board.find("trees").id
    answer = board.projector.neighbors(NeighborsRequest(trees, rows=b"\x11", count=3, within=FEW))
    assert set(answer.rows) <= {5, 6, 7, 8, 9} and answer.rows[0] == 8
    for ask in (
        NeighborsRequest(trees),
        NeighborsRequest(trees, row=ROWS),
        NeighborsRequest(trees, rows=b""),
    ):
        with pytest.raises(UsageError, match="no point was chosen"):
            board.projector.neighbors(ask)


@pytest.mark.parametrize(
    ("query", "regex", "column", "found"),
    [
        ("OAK 1", False, None, [12, 16]),
        ("^(oak|elm)$", True, "kind", [row for row in range(ROWS) if row % 4 < 2]),
        ("^oak 1[26]$", True, "tree", [12, 16]),
        ("29.5", False, "height", [59]),
        ("palm", False, None, []),
        ("", False, None, []),
    ],
)
def test_labels_are_searched(
    board: Board, query: str, regex: bool, column: str | None, found: list[int]
) -> None:
    ask = SearchRequest(board.find("trees").id, query=query, regex=regex, column=column)
    answer = board.projector.search(ask)
    assert (answer.count, answer.rows.tolist()) == (len(found), found)


def test_a_search_that_cannot_be_done_says_why(board: Board) -> None:
    trees = board.find("trees").id
    with pytest.raises(UsageError, match="regular expression"):
        board.projector.search(SearchRequest(trees, query="(", regex=True))
    with pytest.raises(UsageError, match="no column"):
        board.projector.search(SearchRequest(trees, query="a", column="size"))


def test_points_without_labels_are_found_by_their_number(board: Board) -> None:
    answer = board.projector.search(SearchRequest(board.find("loose").id, query="3"))
    assert answer.rows.tolist() == [3]


def test_points_of_two_embeddings_are_matched(board: Board) -> None:
    trees = board.find("trees").id
    other = EmbeddingRequest(board.find("loose").id)
    by_row = board.projector.match(MatchRequest(trees, other=other))
    assert (by_row.matched, by_row.rows[:8].tolist()) == (7, [0, 1, 2, 3, 4, 5, 6, -1])
    text = b"tree\tx\ty\nelm 5\t1\t2\noak 4\t3\t1\nnone\t0\t1\n"
    mine = EmbeddingRequest(board.projector.upload(UploadRequest("v.csv", text)).id)
    by_label = board.projector.match(MatchRequest(trees, other=mine, column="tree"))
    assert (by_label.matched, by_label.rows[4], by_label.rows[5]) == (2, 1, 0)
    suiting = board.projector.match(MatchRequest(trees, other=mine))
    assert suiting.rows.tolist() == by_label.rows.tolist()
    by_number = board.projector.match(MatchRequest(trees, other=mine, column=None))
    assert by_number.rows[:4].tolist() == [0, 1, 2, -1]


@pytest.mark.parametrize("method", [KmeansMethod(4), HdbscanMethod(5)])
def test_groups_are_found_and_named_by_their_words(
    board: Board, method: KmeansMethod | HdbscanMethod
) -> None:
    trees = board.find("trees").id
    row = board.projector.cluster(ClusterRequest(trees, method=method))
    board.wait(row)
    answer = board.projector.clusters(JobRequest(row.job))
    assert sorted(cluster.name for cluster in answer.clusters) == sorted(NAMES)
    assert [cluster.count for cluster in answer.clusters] == [15] * 4
    named = [answer.clusters[code].name for code in answer.codes]
    assert named == [NAMES[place % 4] for place in range(ROWS)]


def test_groups_of_some_points_of_a_layout(board: Board) -> None:
    trees = board.find("trees").id
    layout = board.wait(board.projector.project(ProjectionRequest(trees, rows=FEW)))
    row = board.projector.cluster(ClusterRequest(trees, method=KmeansMethod(2), on=layout.job.job))
    board.wait(row)
    codes = board.projector.clusters(JobRequest(row.job)).codes
    assert np.flatnonzero(codes >= 0).tolist() == [4, 5, 6, 7, 8, 9]
    too_many = board.projector.cluster(ClusterRequest(trees, method=KmeansMethod(50), rows=FEW))
    failed = board.wait(too_many).job
    assert (failed.state, failed.problem.partition(";")[0]) == (
        "failed",
        "6 points do not make 50 groups",
    )
    assert board.projector.clusters(JobRequest(too_many.job)).clusters == []
