from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.dashboards.projector.conftest import NAMES, ROWS, Board
from tracklight.dashboards.projector.schemas import (
    ColumnRequest,
    EmbeddingRequest,
    PointRequest,
    SpriteTileRequest,
    UploadRequest,
)
from tracklight.errors import LogError, TracklightError, UsageError
from tracklight.plugin import Empty


def test_embeddings_are_listed_with_their_steps(board: Board) -> None:
    trees, loose = board.projector.embeddings(Empty()).embeddings
    assert (trees.run, trees.name, trees.has_labels, trees.has_sprite) == (".", "trees", True, True)
    assert [(it.index, it.step) for it in trees.versions] == [(0, 10), (1, 200)]
    assert len({it.mark for it in trees.versions}) == 2
    assert (loose.name, loose.has_labels, loose.versions[0].rows) == ("loose", False, 7)


def test_info_of_an_embedding(board: Board) -> None:
    trees = board.find("trees")
    info = board.projector.about(EmbeddingRequest(trees.id))
    assert (info.index, info.step, info.rows, info.dimensions) == (1, 200, ROWS, 10)
    assert (info.mark, info.usable) == (trees.versions[1].mark, None)
    tree, kind, height = info.columns
    assert (tree.kind, tree.distinct, tree.values) == ("text", ROWS, [])
    assert [(it.text, it.count) for it in kind.values] == [(name, 15) for name in NAMES]
    assert (height.kind, height.min, height.max) == ("number", 0, 29.5)
    assert (info.label_column, info.color_column, info.spherize) == ("tree", "kind", False)
    assert info.problems == []


def test_columns_are_encoded_as_values_and_codes(board: Board) -> None:
    trees = board.find("trees")
    kind = board.projector.column(ColumnRequest(trees.id, name="kind"))
    assert bytes(kind.text) == "".join(NAMES).encode()
    assert kind.ends.tolist() == [3, 6, 9, 12]
    assert kind.codes is not None and kind.codes[:5].tolist() == [0, 1, 2, 3, 0]
    height = board.projector.column(ColumnRequest(trees.id, name="height"))
    assert height.codes is None
    assert height.numbers is not None and height.numbers[3] == 1.5
    with pytest.raises(UsageError, match='no column "size"'):
        board.projector.column(ColumnRequest(trees.id, name="size"))


def test_images_are_returned_on_tiles_or_one_by_one(board: Board) -> None:
    trees = board.find("trees")
    sprite = board.projector.about(EmbeddingRequest(trees.id)).sprite
    assert sprite is not None
    assert (sprite.cell_width, sprite.cell_height, sprite.tiles) == (8, 9, 1)
    tile = Image.open(io.BytesIO(board.projector.sprite(SpriteTileRequest(trees.id)).content))
    assert tile.size == (sprite.tile_columns * 8, 9)
    image = Image.open(io.BytesIO(board.projector.picture(PointRequest(trees.id, row=5)).content))
    assert (image.size, image.getpixel((0, 0))) == ((8, 9), (255, 0, 0, 255))
    with pytest.raises(UsageError, match="no tile 1"):
        board.projector.sprite(SpriteTileRequest(trees.id, tile=1))
    with pytest.raises(UsageError, match="no images"):
        board.projector.sprite(SpriteTileRequest(board.find("loose").id))
    with pytest.raises(UsageError, match="no images"):
        board.projector.picture(PointRequest(board.find("loose").id))


def test_point_has_labels_and_a_vector(board: Board) -> None:
    point = board.projector.point(PointRequest(board.find("trees").id, row=2))
    assert [(it.name, it.text) for it in point.cells][:2] == [("tree", "ash 2"), ("kind", "ash")]
    assert point.length == pytest.approx(float(np.linalg.norm(point.vector)))
    with pytest.raises(UsageError, match="no point 60"):
        board.projector.point(PointRequest(board.find("trees").id, row=ROWS))


def test_outdated_marks_are_rejected(board: Board, logdir: Path) -> None:
    trees = board.find("trees")
    request = EmbeddingRequest(trees.id, 1, trees.versions[1].mark)
    board.projector.about(request)
    np.save(logdir / "late.npy", np.ones((ROWS, 10)) * np.arange(ROWS)[:, None])
    with pytest.raises(LogError, match="has changed"):
        board.projector.about(request)
    assert board.find("trees").versions[1].mark != request.mark
    for missing in (EmbeddingRequest("none"), EmbeddingRequest(trees.id, 7)):
        with pytest.raises(LogError, match="reload the page"):
            board.projector.about(missing)


def test_new_versions_are_listed_after_a_refresh(board: Board, logdir: Path) -> None:
    before = board.find("loose")
    assert [it.step for it in before.versions] == [None]
    np.save(logdir / "loose-12.npy", np.ones((7, 10)) * np.arange(7)[:, None])
    board.catalog.refresh()
    after = board.find("loose")
    assert ([it.step for it in after.versions], after.id) == ([None, 12], before.id)
    for index in (0, 1):
        assert board.projector.about(EmbeddingRequest(after.id, index)).rows == 7


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (b"a\nb\n", "2 rows of labels for 60 vectors; the last vectors have none"),
        (b"", "is empty"),
        (b"a\tb\n" + b"x\ty\n" * 59 + b"x\n", "1 rows of labels do not have 2 cells"),
    ],
)
def test_reports_labels_that_do_not_fit(
    board: Board, logdir: Path, labels: bytes, message: str
) -> None:
    (logdir / "labels.tsv").write_bytes(labels)
    info = board.projector.about(EmbeddingRequest(board.find("trees").id))
    assert any(message in problem.text for problem in info.problems)
    assert all(column.distinct <= ROWS for column in info.columns)


def test_unreadable_labels_and_images_are_reported(board: Board, logdir: Path) -> None:
    (logdir / "labels.tsv").unlink()
    Image.new("L", (8, 9)).save(logdir / "sprite.png")
    info = board.projector.about(EmbeddingRequest(board.find("trees").id))
    assert [problem.text.partition(":")[0] for problem in info.problems] == [
        "no labels",
        "no images",
    ]
    assert (info.columns, info.sprite, info.label_column) == ([], None, None)


def test_non_finite_vectors_are_reported(board: Board, logdir: Path) -> None:
    vectors = np.load(logdir / "late.npy")
    vectors[3, 1] = np.nan
    np.save(logdir / "late.npy", vectors)
    info = board.projector.about(EmbeddingRequest(board.find("trees").id))
    assert info.usable is not None and np.flatnonzero(~info.usable).tolist() == [3]
    assert "left out 1 of 60 vectors with NaN" in info.problems[0].text


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones((1, 4)), "1; at least 2 are needed"),
        (np.ones((4, 1)), "length 1; at least 2 are needed"),
        (np.full((3, 2), np.nan), "every vector"),
    ],
)
def test_rejects_uploads_without_vectors(board: Board, array: np.ndarray, message: str) -> None:
    file = io.BytesIO()
    np.save(file, array)
    with pytest.raises(TracklightError, match=message):
        board.projector.upload(UploadRequest("x.npy", file.getvalue()))


def test_uploads_can_be_given_labels_and_images(board: Board) -> None:
    row = board.projector.upload(UploadRequest("w.tsv", b"der\t1\t2\ndie\t3\t4\ndas\t5\t7\n"))
    assert (row.source, row.name, row.versions[0].rows, row.has_labels) == ("upload", "w", 3, True)
    assert board.projector.embeddings(Empty()).embeddings[0].id == row.id
    board.projector.upload(UploadRequest("m.tsv", b"a\nb\n", labels_of=row.id))
    (problem,) = board.projector.about(EmbeddingRequest(row.id)).problems
    assert (problem.code, problem.args) == ("embeddings.too_few_labels", {"rows": 2, "count": 3})
    again = board.projector.upload(UploadRequest("m.tsv", b"a\nb\nc\n", labels_of=row.id))
    assert board.projector.about(EmbeddingRequest(row.id)).problems == []
    assert again.versions[0].mark != row.versions[0].mark
    point = board.projector.point(PointRequest(row.id, row=2))
    assert [it.text for it in point.cells] == ["c"]
    image = io.BytesIO()
    Image.new("RGB", (8, 8)).save(image, "png")
    assert board.projector.upload(
        UploadRequest("s.png", image.getvalue(), sprite_of=row.id)
    ).has_sprite
    with pytest.raises(LogError, match="only uploaded embeddings"):
        board.projector.upload(UploadRequest("m.tsv", b"a", labels_of=board.find("trees").id))
    with pytest.raises(TracklightError, match="has an unknown file type"):
        board.projector.upload(UploadRequest("x.exe", b"MZ"))
    with pytest.raises(TracklightError, match="no images"):
        board.projector.upload(UploadRequest("s.png", b"none", sprite_of=row.id))
