from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.dashboards.projector.conftest import NAMES, ROWS, Board
from tracklight.analysis.embeddings.projections import DistanceMetric
from tracklight.dashboards.projector import responses
from tracklight.dashboards.projector.schemas import (
    ClusterRequest,
    ColumnFilter,
    ColumnHistogramsRequest,
    EmbeddingFileRequest,
    EmbeddingRequest,
    HdbscanMethod,
    JobRequest,
    KmeansMethod,
    MatchRequest,
    NeighborsRequest,
    PointRowsRequest,
    ProjectionRequest,
    RegionsRequest,
    SearchRequest,
    SimilarRequest,
    UploadRequest,
)
from tracklight.errors import UsageError

SOME_ROWS = bytes([0b1111_0000, 0b0000_0011])


@pytest.mark.parametrize("metric", ["cosine", "euclidean", "dot"])
def test_neighbors_are_those_of_the_vectors(board: Board, metric: DistanceMetric) -> None:
    trees = board.find("trees").id
    response = board.projector.neighbors(NeighborsRequest(trees, row=8, metric=metric, count=5))
    assert response.exact
    assert response.rows.dtype == np.int32 and 8 not in response.rows
    assert (np.diff(response.distances) >= 0).all()
    if metric != "dot":
        assert set(response.rows % 4) == {0}


def test_neighbors_of_several_points_are_those_of_their_mean(board: Board) -> None:
    trees = board.find("trees").id
    response = board.projector.neighbors(
        NeighborsRequest(trees, rows=b"\x11", count=3, within=SOME_ROWS)
    )
    assert set(response.rows) <= {5, 6, 7, 8, 9} and response.rows[0] == 8
    for request in (
        NeighborsRequest(trees),
        NeighborsRequest(trees, row=ROWS),
        NeighborsRequest(trees, rows=b""),
    ):
        with pytest.raises(UsageError, match="no point is selected"):
            board.projector.neighbors(request)


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
def test_searches_labels(
    board: Board, query: str, regex: bool, column: str | None, found: list[int]
) -> None:
    request = SearchRequest(board.find("trees").id, query=query, regex=regex, column=column)
    response = board.projector.search(request)
    assert (response.count, response.rows.tolist()) == (len(found), found)


def test_rejects_invalid_searches(board: Board) -> None:
    trees = board.find("trees").id
    with pytest.raises(UsageError, match="regular expression"):
        board.projector.search(SearchRequest(trees, query="(", regex=True))
    with pytest.raises(UsageError, match="no column"):
        board.projector.search(SearchRequest(trees, query="a", column="size"))


def test_points_without_labels_are_searched_by_row(board: Board) -> None:
    response = board.projector.search(SearchRequest(board.find("loose").id, query="3"))
    assert response.rows.tolist() == [3]


def test_matches_points_of_two_embeddings(board: Board) -> None:
    trees = board.find("trees").id
    other = EmbeddingRequest(board.find("loose").id)
    by_row = board.projector.match(MatchRequest(trees, other=other))
    assert (by_row.matched, by_row.rows[:8].tolist()) == (7, [0, 1, 2, 3, 4, 5, 6, -1])
    text = b"tree\tx\ty\nelm 5\t1\t2\noak 4\t3\t1\nnone\t0\t1\n"
    upload = EmbeddingRequest(board.projector.upload(UploadRequest("v.csv", text)).id)
    by_label = board.projector.match(MatchRequest(trees, other=upload, column="tree"))
    assert (by_label.matched, by_label.rows[4], by_label.rows[5]) == (2, 1, 0)
    automatic = board.projector.match(MatchRequest(trees, other=upload))
    assert automatic.rows.tolist() == by_label.rows.tolist()
    by_number = board.projector.match(MatchRequest(trees, other=upload, column=None))
    assert by_number.rows[:4].tolist() == [0, 1, 2, -1]


def test_points_with_the_same_names_match_in_another_order(board: Board) -> None:
    names = [f"id{number}" for number in range(6)]

    def upload(file: str, rows: list[int], word: str) -> str:
        lines = ["id\tkind\tx\ty\n"]
        lines += [f"{names[row]}\t{word}\t{row}\t{row % 3}\n" for row in rows]
        return board.projector.upload(UploadRequest(file, "".join(lines).encode())).id

    first = upload("a.csv", [0, 1, 2, 3, 4, 5], "old")
    other = EmbeddingRequest(upload("b.csv", [5, 3, 1, 0, 2, 4], "new"))
    matched = board.projector.match(MatchRequest(first, other=other))
    assert (matched.matched, matched.rows.tolist()) == (6, [3, 2, 4, 1, 5, 0])


@pytest.mark.parametrize("method", [KmeansMethod(4), HdbscanMethod(5)])
def test_clusters_are_named_by_typical_words(
    board: Board, method: KmeansMethod | HdbscanMethod
) -> None:
    trees = board.find("trees").id
    job = board.projector.cluster(ClusterRequest(trees, method=method))
    board.wait(job)
    response = board.projector.clusters(JobRequest(job.job))
    assert sorted(cluster.name for cluster in response.clusters) == sorted(NAMES)
    assert [cluster.count for cluster in response.clusters] == [15] * 4
    named = [response.clusters[code].name for code in response.codes]
    assert named == [NAMES[row % 4] for row in range(ROWS)]


def test_clusters_of_a_layout_of_some_rows(board: Board) -> None:
    trees = board.find("trees").id
    layout = board.wait(board.projector.project(ProjectionRequest(trees, rows=SOME_ROWS)))
    job = board.projector.cluster(
        ClusterRequest(trees, method=KmeansMethod(2), layout_job=layout.job.job)
    )
    board.wait(job)
    codes = board.projector.clusters(JobRequest(job.job)).codes
    assert np.flatnonzero(codes >= 0).tolist() == [4, 5, 6, 7, 8, 9]
    too_many = board.projector.cluster(
        ClusterRequest(trees, method=KmeansMethod(50), rows=SOME_ROWS)
    )
    failed = board.wait(too_many).job
    assert failed.state == "failed" and failed.problem is not None
    assert failed.problem.code == "projector.too_many_clusters"
    assert failed.problem.args == {"points": 6, "count": 50}
    assert board.projector.clusters(JobRequest(too_many.job)).clusters == []


def test_rows_are_sorted_on_the_server_and_returned_in_pages(board: Board) -> None:
    trees = board.find("trees").id

    def read(**fields: object) -> tuple[int, list[int]]:
        response = board.projector.rows(PointRowsRequest(trees, **fields))  # type: ignore[arg-type]
        return response.total, response.rows.tolist()

    assert read(limit=3) == (ROWS, [0, 1, 2])
    assert read(limit=2, offset=58) == (ROWS, [58, 59])
    assert read(limit=2, descending=True) == (ROWS, [59, 58])
    # Heights are numbers; kinds are texts, whose rows keep their order.
    assert read(limit=2, sort="height", descending=True) == (ROWS, [59, 58])
    assert read(limit=3, sort="kind") == (ROWS, [2, 6, 10])
    assert read(sort="kind", within=SOME_ROWS) == (6, [6, 5, 9, 7, 4, 8])
    oaks = {"kind": ColumnFilter(values=["oak"])}
    assert read(limit=2, filters=oaks, descending=True) == (ROWS // 4, [56, 52])
    assert read(filters=oaks, within=SOME_ROWS) == (2, [4, 8])
    page = board.projector.rows(
        PointRowsRequest(trees, columns=["kind", "tree"], offset=4, limit=1)
    )
    assert page.cells == [["oak"], ["oak 4"]]
    with pytest.raises(UsageError, match='no column "nothing"'):
        read(sort="nothing")


def test_histograms_are_of_the_points_that_pass_other_filters(board: Board) -> None:
    trees = board.find("trees").id
    heights = np.arange(ROWS) / 2
    kinds = np.arange(ROWS) % 4
    request = ColumnHistogramsRequest(trees, ranges=["height"], values=["kind"], bins=8)
    everything = board.projector.histograms(request)
    assert everything.passing == ROWS
    assert everything.counts["height"] == np.histogram(heights, 8)[0].tolist()
    assert everything.counts["kind"] == [ROWS // 4] * 4
    filters = {
        "height": ColumnFilter(range=(2.0, 10.0)),
        "kind": ColumnFilter(values=["oak", "elm"]),
        "gone": ColumnFilter(values=["x"]),
    }
    in_range, is_kind = (heights >= 2) & (heights <= 10), kinds < 2
    filtered = board.projector.histograms(
        ColumnHistogramsRequest(trees, ranges=["height"], values=["kind"], bins=8, filters=filters)
    )
    assert filtered.passing == np.count_nonzero(in_range & is_kind)
    edges = np.linspace(0, heights.max(), 9)
    assert filtered.counts["height"] == np.histogram(heights[is_kind], edges)[0].tolist()
    assert filtered.counts["kind"] == np.bincount(kinds[in_range], minlength=4).tolist()
    with pytest.raises(UsageError, match='no column "gone"'):
        board.projector.histograms(ColumnHistogramsRequest(trees, values=["gone"]))


def test_histograms_of_columns_of_the_other_kind_are_empty(board: Board, logdir: Path) -> None:
    rows = ["nan\tx"] * ROWS
    (logdir / "labels.tsv").write_text("height\tkind\n" + "\n".join(rows) + "\n")
    board.catalog.refresh()
    request = ColumnHistogramsRequest(
        board.find("trees").id, ranges=["height", "kind"], values=["kind"], bins=3
    )
    counts = board.projector.histograms(request).counts
    assert counts == {"height": [0, 0, 0], "kind": [ROWS]}


def test_similar_points_within_a_selection(board: Board) -> None:
    trees = board.find("trees").id
    source = EmbeddingRequest(trees)
    request = SimilarRequest(trees, source=source, text="elm", within=SOME_ROWS, count=100)
    assert set(board.projector.similar(request).rows) == {4, 6, 7, 8}
    request = SimilarRequest(trees, source=source, text="elm 5", within=bytes([1 << 5]))
    assert board.projector.similar(request).rows.tolist() == [5]  # rather than nothing


def test_layout_can_be_downloaded(board: Board) -> None:
    trees = board.find("trees").id
    layout = board.wait(board.projector.project(ProjectionRequest(trees, rows=SOME_ROWS)))

    def read(**fields: Any) -> bytes:
        request = EmbeddingFileRequest(trees, content="layout", job=layout.job.job, **fields)
        return b"".join(board.projector.file(request).chunks)

    array = np.load(io.BytesIO(read(format="npy")))
    np.testing.assert_array_equal(array[:, 0], layout.coordinates[0])
    header, *lines = read().decode().splitlines()
    assert header.split("\t")[0] == "row"
    assert [int(line.split("\t")[0]) for line in lines] == [4, 5, 6, 7, 8, 9]


def test_long_files_are_sent_in_blocks(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    request = EmbeddingFileRequest(board.find("trees").id, content="labels")
    whole = b"".join(board.projector.file(request).chunks)
    monkeypatch.setattr(responses, "_BLOCK_ROWS", 7)
    blocks = list(board.projector.file(request).chunks)
    assert (len(blocks), b"".join(blocks)) == (9, whole)


def test_points_without_labels_have_no_regions(board: Board) -> None:
    job = board.projector.project(ProjectionRequest(board.find("loose").id))
    board.wait(job)
    assert board.projector.regions(RegionsRequest(job.job)).regions == []
