from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.dashboards.projector.conftest import NAMES, ROWS, Board
from tracklight.analysis.embeddings.projections.pca import align_procrustes
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

FEW = bytes([0b1111_0000, 0b0000_0011])
QUICK = TsneMethod(iterations=30, perplexity=5)


def test_components_are_told_with_what_they_explain(board: Board) -> None:
    trees = board.find("trees").id
    answer = board.wait(board.projector.project(ProjectionRequest(trees)))
    assert (answer.job.state, answer.rows, answer.exact) == ("done", None, True)
    assert [len(places) for places in answer.places] == [ROWS] * 3
    assert answer.explained == sorted(answer.explained, reverse=True)
    assert sum(answer.explained) == pytest.approx(1)
    last = board.projector.layout(LayoutRequest(answer.job.job, axes=[9, 0]))
    assert np.array_equal(last.places[1], answer.places[0])
    assert np.var(last.places[0]) < np.var(last.places[1])
    seen = board.projector.layout(LayoutRequest(answer.job.job, seen=answer.job.frame))
    assert seen.places == []


@pytest.mark.parametrize("method", [QUICK, UmapMethod(dimensions=3, epochs=20, neighbours=5)])
def test_layouts_are_the_same_for_the_same_ask(
    board: Board, method: TsneMethod | UmapMethod
) -> None:
    trees = board.find("trees").id
    row = board.projector.project(ProjectionRequest(trees, method=method))
    answer = board.wait(row)
    assert [len(places) for places in answer.places] == [ROWS] * method.dimensions
    assert board.projector.project(ProjectionRequest(trees, method=method)).job == row.job
    other = board.projector.project(ProjectionRequest(trees, method=method, seed=1))
    assert other.job != row.job
    board.wait(other)


def test_a_layout_is_kept_for_the_next_server(board: Board, logdir: Path, tmp_path: Path) -> None:
    ask = ProjectionRequest(board.find("trees").id, method=QUICK)
    first = board.wait(board.projector.project(ask))
    board.close()
    again = Board(logdir, tmp_path / "cache")
    row = again.projector.project(ask)
    assert row.state == "done"
    places = again.projector.layout(LayoutRequest(row.job)).places
    assert np.array_equal(places[0], first.places[0])
    again.close()


def test_some_points_are_laid_out_alone(board: Board) -> None:
    trees = board.find("trees").id
    answer = board.wait(board.projector.project(ProjectionRequest(trees, rows=FEW, spherize=True)))
    assert answer.rows is not None and answer.rows.tolist() == [4, 5, 6, 7, 8, 9]
    assert [len(places) for places in answer.places] == [6, 6, 6]
    with pytest.raises(UsageError, match="more than 60 points"):
        board.projector.project(ProjectionRequest(trees, rows=bytes(9)))
    with pytest.raises(UsageError, match="choose more"):
        board.projector.project(ProjectionRequest(trees, rows=b"\x01"))


def test_labels_can_pull_points_together(board: Board) -> None:
    trees = board.find("trees").id
    for text, byte in (("left", b"\x0f"), ("right", b"\xf0")):
        board.projector.edit(EditRequest(trees, rows=byte * 7, column="side", text=text))
    supervised = TsneMethod(iterations=30, perplexity=5, supervise="side", pull=0.9)
    plain, pulled = (
        board.wait(board.projector.project(ProjectionRequest(trees, method=method)))
        for method in (QUICK, supervised)
    )
    assert not np.array_equal(plain.places[0], pulled.places[0])
    with pytest.raises(UsageError, match='no column "size"'):
        board.projector.project(
            ProjectionRequest(trees, method=UmapMethod(supervise="size", pull=1))
        )


def test_axes_go_from_some_points_to_others(board: Board) -> None:
    trees = board.find("trees").id
    axis = CustomAxis(AxisEnd("oak", column="kind"), AxisEnd("^(elm|ash)$", True, "kind"))
    ask = ProjectionRequest(
        trees, method=CustomAxesMethod([axis, CustomAxis(AxisEnd(rows=b"\x01"), AxisEnd("fir"))])
    )
    first, second = board.wait(board.projector.project(ask)).places
    kinds = np.arange(ROWS) % 4
    assert first[kinds == 0].max() < first[(kinds == 1) | (kinds == 2)].min()
    assert second[0] < second[kinds == 3].mean()
    for axes, sentence in (
        ([CustomAxis(AxisEnd("palm"), AxisEnd("fir"))], '"palm" finds no point'),
        ([CustomAxis(AxisEnd("fir"), AxisEnd("fir"))], "begins where it ends"),
    ):
        with pytest.raises(UsageError, match=sentence):
            board.projector.project(ProjectionRequest(trees, method=CustomAxesMethod(axes)))


def test_layouts_are_turned_onto_the_points_that_a_column_says_are_the_same(board: Board) -> None:
    trees = board.find("trees").id
    base = board.wait(board.projector.project(ProjectionRequest(trees)))
    order = [7, 2, 30, 11, 45, 20]
    cells = zip(*(column[order].tolist() for column in base.places[:3]), strict=True)
    lines = [
        f"{NAMES[row % 4]} {row}\t{x}\t{y}\t{z}"
        for row, (x, y, z) in zip(order, cells, strict=True)
    ]
    text = "\n".join(["tree\tx\ty\tz", *lines])
    mine = board.projector.upload(UploadRequest("v.csv", text.encode())).id
    ask = ProjectionRequest(mine, align=base.job.job)
    turned = board.wait(board.projector.project(ask))
    for axis in range(2):
        np.testing.assert_allclose(turned.places[axis], base.places[axis][order], atol=1e-3)
    ask.align_by = None
    by_number = board.wait(board.projector.project(ask))
    assert not np.allclose(by_number.places[0], base.places[0][order], atol=1e-3)


def test_steps_are_seen_along_the_same_directions(board: Board) -> None:
    trees = board.find("trees").id
    late = board.wait(board.projector.project(ProjectionRequest(trees, 1)))
    early = board.wait(board.projector.project(ProjectionRequest(trees, 0, align=late.job.job)))
    np.testing.assert_allclose(
        early.places[0][:5] - early.places[0][5],
        0.1 * (late.places[0][:5] - late.places[0][5]),
        rtol=1e-4,
    )
    umap = UmapMethod(neighbours=5, epochs=100)
    base = board.wait(board.projector.project(ProjectionRequest(trees, 1, method=umap)))
    turned = board.wait(
        board.projector.project(ProjectionRequest(trees, 0, method=umap, align=base.job.job))
    )
    agreement = np.corrcoef(base.places[0], turned.places[0])[0, 1]
    assert agreement > 0.9


def test_a_layout_is_turned_and_mirrored_onto_another() -> None:
    rng = np.random.default_rng(0)
    there = rng.normal(size=(20, 2)).astype(np.float32)
    angle = 0.7
    turn = np.array([[np.cos(angle), np.sin(angle)], [np.sin(angle), -np.cos(angle)]])
    moved = (3 * there @ turn + 5).astype(np.float32)
    some = np.arange(15, dtype=np.int32)
    np.testing.assert_allclose(align_procrustes(moved, some, there[:15]), there, atol=1e-5)
    assert align_procrustes(moved, some[:0], there[:0]) is moved


def test_a_layout_is_judged(board: Board) -> None:
    trees = board.find("trees").id
    done = board.wait(board.projector.project(ProjectionRequest(trees, method=QUICK)))
    quality = board.projector.quality(QualityRequest(done.job.job))
    assert (quality.of, quality.sample, quality.neighbours) == (ROWS, ROWS, 5)
    assert 0.5 < quality.trust <= 1
    assert quality.sentence.endswith("How large groups are, and how far apart, says little.")
    full = board.wait(board.projector.project(ProjectionRequest(trees)))
    exact = board.projector.quality(QualityRequest(full.job.job, axes=list(range(10))))
    assert exact.trust == pytest.approx(1)
    assert exact.sentence == "Points that are close here are close in the data."
    pair = board.wait(board.projector.project(ProjectionRequest(trees, rows=b"\x03")))
    with pytest.raises(UsageError, match="too few neighbours"):
        board.projector.quality(QualityRequest(pair.job.job))


def test_what_takes_long_can_be_stopped(board: Board) -> None:
    trees = board.find("trees").id
    row = board.projector.project(ProjectionRequest(trees, method=TsneMethod(iterations=100_000)))
    board.projector.cancel(JobRequest(row.job))
    assert board.wait(row).job.state == "cancelled"
    assert board.projector.project(ProjectionRequest(trees)).job != row.job


@pytest.mark.parametrize(
    ("method", "sentence"),
    [
        (TsneMethod(perplexity=0.5), "a perplexity is more than 1"),
        (TsneMethod(iterations=0), "0 iterations"),
        (UmapMethod(neighbours=1), "2 to 500 neighbours"),
        (UmapMethod(min_dist=1), "less than 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    board: Board, method: PcaMethod | TsneMethod | UmapMethod, sentence: str
) -> None:
    with pytest.raises(TracklightError, match=sentence):
        board.projector.project(ProjectionRequest(board.find("trees").id, method=method))


def test_a_job_that_nobody_knows_is_told_so(board: Board) -> None:
    with pytest.raises(LogError, match="start it again"):
        board.projector.layout(LayoutRequest("none"))
