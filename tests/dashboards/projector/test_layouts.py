from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.dashboards.projector.conftest import NAMES, ROWS, Board
from tracklight.analysis.embeddings.projections import align_procrustes
from tracklight.dashboards.projector.schemas import (
    AxisEnd,
    CustomAxesMethod,
    CustomAxis,
    EditRequest,
    JobRequest,
    LayoutRequest,
    PcaMethod,
    ProjectionRequest,
    QualityRequest,
    TsneMethod,
    UmapMethod,
    UploadRequest,
)
from tracklight.errors import LogError, TracklightError, UsageError

SOME_ROWS = bytes([0b1111_0000, 0b0000_0011])
FAST_TSNE = TsneMethod(iterations=30, perplexity=5)


def test_pca_returns_components_and_explained_ratios(board: Board) -> None:
    trees = board.find("trees").id
    response = board.wait(board.projector.project(ProjectionRequest(trees)))
    assert (response.job.state, response.rows, response.is_exact) == ("done", None, True)
    assert [len(axis) for axis in response.coordinates] == [ROWS] * 3
    assert response.explained_ratio == sorted(response.explained_ratio, reverse=True)
    assert sum(response.explained_ratio) == pytest.approx(1)
    last = board.projector.layout(LayoutRequest(response.job.job, axes=[9, 0]))
    assert np.array_equal(last.coordinates[1], response.coordinates[0])
    assert np.var(last.coordinates[0]) < np.var(last.coordinates[1])
    seen = board.projector.layout(LayoutRequest(response.job.job, known_frame=response.job.frame))
    assert seen.coordinates == []


@pytest.mark.parametrize("method", [FAST_TSNE, UmapMethod(dimensions=3, epochs=20, n_neighbors=5)])
def test_equal_requests_share_a_job(board: Board, method: TsneMethod | UmapMethod) -> None:
    trees = board.find("trees").id
    job = board.projector.project(ProjectionRequest(trees, method=method))
    response = board.wait(job)
    assert [len(axis) for axis in response.coordinates] == [ROWS] * method.dimensions
    assert board.projector.project(ProjectionRequest(trees, method=method)).job == job.job
    other = board.projector.project(ProjectionRequest(trees, method=method, seed=1))
    assert other.job != job.job
    board.wait(other)


def test_layout_is_cached_across_restarts(board: Board, logdir: Path, tmp_path: Path) -> None:
    request = ProjectionRequest(board.find("trees").id, method=FAST_TSNE)
    first = board.wait(board.projector.project(request))
    board.close()
    again = Board(logdir, tmp_path / "cache")
    job = again.projector.project(request)
    assert job.state == "done"
    coordinates = again.projector.layout(LayoutRequest(job.job)).coordinates
    assert np.array_equal(coordinates[0], first.coordinates[0])
    again.close()


def test_layout_of_selected_rows(board: Board) -> None:
    trees = board.find("trees").id
    response = board.wait(
        board.projector.project(ProjectionRequest(trees, rows=SOME_ROWS, spherize=True))
    )
    assert response.rows is not None and response.rows.tolist() == [4, 5, 6, 7, 8, 9]
    assert [len(axis) for axis in response.coordinates] == [6, 6, 6]
    with pytest.raises(UsageError, match="too many for 60 points"):
        board.projector.project(ProjectionRequest(trees, rows=bytes(9)))
    with pytest.raises(UsageError, match="select more"):
        board.projector.project(ProjectionRequest(trees, rows=b"\x01"))


def test_labels_supervise_a_layout(board: Board) -> None:
    trees = board.find("trees").id
    for text, byte in (("left", b"\x0f"), ("right", b"\xf0")):
        board.projector.edit(EditRequest(trees, rows=byte * 7, column="side", text=text))
    supervised_method = TsneMethod(
        iterations=30, perplexity=5, supervise_column="side", supervise_factor=0.9
    )
    plain, supervised = (
        board.wait(board.projector.project(ProjectionRequest(trees, method=method)))
        for method in (FAST_TSNE, supervised_method)
    )
    assert not np.array_equal(plain.coordinates[0], supervised.coordinates[0])
    with pytest.raises(UsageError, match='no column "size"'):
        board.projector.project(
            ProjectionRequest(trees, method=UmapMethod(supervise_column="size", supervise_factor=1))
        )


def test_custom_axes(board: Board) -> None:
    trees = board.find("trees").id
    axis = CustomAxis(AxisEnd("oak", column="kind"), AxisEnd("^(elm|ash)$", True, "kind"))
    request = ProjectionRequest(
        trees, method=CustomAxesMethod([axis, CustomAxis(AxisEnd(rows=b"\x01"), AxisEnd("fir"))])
    )
    first, second = board.wait(board.projector.project(request)).coordinates
    kinds = np.arange(ROWS) % 4
    assert first[kinds == 0].max() < first[(kinds == 1) | (kinds == 2)].min()
    assert second[0] < second[kinds == 3].mean()
    for axes, message in (
        ([CustomAxis(AxisEnd("palm"), AxisEnd("fir"))], 'no point matches "palm"'),
        ([CustomAxis(AxisEnd("fir"), AxisEnd("fir"))], "both ends of an axis are the same"),
    ):
        with pytest.raises(UsageError, match=message):
            board.projector.project(ProjectionRequest(trees, method=CustomAxesMethod(axes)))


def test_layout_is_aligned_by_a_column(board: Board) -> None:
    trees = board.find("trees").id
    base = board.wait(board.projector.project(ProjectionRequest(trees)))
    order = [7, 2, 30, 11, 45, 20]
    cells = zip(*(column[order].tolist() for column in base.coordinates[:3]), strict=True)
    lines = [
        f"{NAMES[row % 4]} {row}\t{x}\t{y}\t{z}"
        for row, (x, y, z) in zip(order, cells, strict=True)
    ]
    text = "\n".join(["tree\tx\ty\tz", *lines])
    upload = board.projector.upload(UploadRequest("v.csv", text.encode())).id
    request = ProjectionRequest(upload, align_to=base.job.job)
    aligned = board.wait(board.projector.project(request))
    for axis in range(2):
        np.testing.assert_allclose(
            aligned.coordinates[axis], base.coordinates[axis][order], atol=1e-3
        )
    request.align_by = None
    by_number = board.wait(board.projector.project(request))
    assert not np.allclose(by_number.coordinates[0], base.coordinates[0][order], atol=1e-3)


def test_steps_are_projected_onto_the_same_components(board: Board) -> None:
    trees = board.find("trees").id
    late = board.wait(board.projector.project(ProjectionRequest(trees, 1)))
    early = board.wait(board.projector.project(ProjectionRequest(trees, 0, align_to=late.job.job)))
    np.testing.assert_allclose(
        early.coordinates[0][:5] - early.coordinates[0][5],
        0.1 * (late.coordinates[0][:5] - late.coordinates[0][5]),
        rtol=1e-4,
    )
    umap = UmapMethod(n_neighbors=5, epochs=100)
    base = board.wait(board.projector.project(ProjectionRequest(trees, 1, method=umap)))
    aligned = board.wait(
        board.projector.project(ProjectionRequest(trees, 0, method=umap, align_to=base.job.job))
    )
    agreement = np.corrcoef(base.coordinates[0], aligned.coordinates[0])[0, 1]
    assert agreement > 0.9


def test_procrustes_rotates_mirrors_and_scales() -> None:
    rng = np.random.default_rng(0)
    target = rng.normal(size=(20, 2)).astype(np.float32)
    angle = 0.7
    rotation = np.array([[np.cos(angle), np.sin(angle)], [np.sin(angle), -np.cos(angle)]])
    moved = (3 * target @ rotation + 5).astype(np.float32)
    rows = np.arange(15, dtype=np.int32)
    np.testing.assert_allclose(align_procrustes(moved, rows, target[:15]), target, atol=1e-5)
    assert align_procrustes(moved, rows[:0], target[:0]) is moved


def test_quality_of_a_layout(board: Board) -> None:
    trees = board.find("trees").id
    done = board.wait(board.projector.project(ProjectionRequest(trees, method=FAST_TSNE)))
    quality = board.projector.quality(QualityRequest(done.job.job))
    assert (quality.point_count, quality.sample_size, quality.n_neighbors) == (ROWS, ROWS, 5)
    assert 0.5 < quality.trustworthiness <= 1
    assert quality.explanation[-1].code == "projector.trust_neighbors_only"
    full = board.wait(board.projector.project(ProjectionRequest(trees)))
    exact = board.projector.quality(QualityRequest(full.job.job, axes=list(range(10))))
    assert exact.trustworthiness == pytest.approx(1)
    assert [it.text for it in exact.explanation] == [
        "Points that are close here are close in the data."
    ]
    pair = board.wait(board.projector.project(ProjectionRequest(trees, rows=b"\x03")))
    with pytest.raises(UsageError, match="too few to compare neighbors"):
        board.projector.quality(QualityRequest(pair.job.job))


def test_job_can_be_cancelled(board: Board) -> None:
    trees = board.find("trees").id
    job = board.projector.project(ProjectionRequest(trees, method=TsneMethod(iterations=100_000)))
    board.projector.cancel(JobRequest(job.job))
    assert board.wait(job).job.state == "cancelled"
    assert board.projector.project(ProjectionRequest(trees)).job != job.job


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (TsneMethod(perplexity=0.5), "perplexity must be more than 1"),
        (TsneMethod(iterations=0), "iterations must be from 1"),
        (UmapMethod(n_neighbors=1), "from 2 to 500"),
        (UmapMethod(min_dist=1), "less than 1"),
    ],
)
def test_rejects_invalid_settings(
    board: Board, method: PcaMethod | TsneMethod | UmapMethod, message: str
) -> None:
    with pytest.raises(TracklightError, match=message):
        board.projector.project(ProjectionRequest(board.find("trees").id, method=method))


def test_unknown_job_is_an_error(board: Board) -> None:
    with pytest.raises(LogError, match="start it again"):
        board.projector.layout(LayoutRequest("none"))
