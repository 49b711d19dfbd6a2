"""Tiles, positions and regions of layouts, and search by similarity."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.dashboards.projector.conftest import NAMES, ROWS, Board
from tracklight.dashboards.projector.schemas import (
    ColumnFilter,
    EmbeddingRequest,
    LayoutPlaneRequest,
    LayoutRequest,
    NearestRequest,
    OutlineRequest,
    PositionsRequest,
    ProjectionRequest,
    RegionsRequest,
    SimilarRequest,
    TileRequest,
)
from tracklight.errors import FormatError, UsageError


def start_layout(board: Board, rows: bytes | None = None) -> str:
    """Compute the layout of the trees, and return its job."""
    status = board.projector.project(ProjectionRequest(board.find("trees").id, rows=rows))
    board.wait(status)
    return status.job


def test_tiles_have_all_points_and_the_colors_of_a_column(board: Board) -> None:
    job = start_layout(board)
    bounds = board.projector.density(LayoutPlaneRequest(job))
    assert bounds.point_count == ROWS
    assert 0 < bounds.radius <= bounds.extent * 2
    tile = board.projector.tile(TileRequest(job, zoom=0, x=0, y=0, color="kind"))
    assert tile.colors is not None
    assert np.array_equal(tile.density > 0, tile.colors != 255)
    assert set(np.unique(tile.colors)) <= {0, 1, 2, 3, 255}
    plain = board.projector.tile(TileRequest(job, zoom=0, x=0, y=0))
    assert plain.colors is None
    assert np.array_equal(plain.density, tile.density)
    with pytest.raises(UsageError, match="no tile 2, 0 at zoom 1"):
        board.projector.tile(TileRequest(job, zoom=1, x=2, y=0))
    with pytest.raises(UsageError, match="has 10 axes"):
        board.projector.density(LayoutPlaneRequest(job, axes=[0, 19]))


def test_tiles_leave_out_points_that_do_not_pass_filters(board: Board) -> None:
    job = start_layout(board)
    filters = '{"kind":{"values":["oak"]}}'
    every = board.projector.tile(TileRequest(job, zoom=0, x=0, y=0, color="kind"))
    tile = board.projector.tile(TileRequest(job, zoom=0, x=0, y=0, color="kind", filters=filters))
    assert every.colors is not None and tile.colors is not None
    assert set(np.unique(tile.colors)) == {0, 255}
    assert np.array_equal(tile.density > 0, tile.colors == 0)
    assert (tile.density <= every.density).all()
    for bad in ("[", '{"kind":{"range":[1]}}'):
        with pytest.raises(UsageError, match="the filters are not valid"):
            board.projector.tile(TileRequest(job, zoom=0, x=0, y=0, filters=bad))


def test_points_that_do_not_pass_filters_are_not_found(board: Board) -> None:
    job = start_layout(board)
    layout = board.projector.layout(LayoutRequest(job))
    x, y = float(layout.coordinates[0][5]), float(layout.coordinates[1][5])
    kinds = np.arange(ROWS) % 4
    for kind, expected in (1, 5), (0, None):
        text = f'{{"kind":{{"values":["{NAMES[kind]}"]}}}}'
        nearest = NearestRequest(job, x=x, y=y, radius=1e-3, filters=text)
        assert board.projector.nearest(nearest).row == expected
    elms = {"kind": ColumnFilter(values=[NAMES[1]])}
    everything = [-1e4, -1e4, 1e4, -1e4, 1e4, 1e4, -1e4, 1e4]
    inside = board.projector.inside(OutlineRequest(job, outline=everything, filters=elms))
    assert inside.rows.tolist() == np.flatnonzero(kinds == 1).tolist()
    bits = np.packbits(np.arange(ROWS) < 8, bitorder="little").tobytes()
    positions = board.projector.positions(PositionsRequest(job, rows=bits, filters=elms))
    assert positions.rows.tolist() == [1, 5]


def test_filters_of_a_layout_of_some_rows(board: Board) -> None:
    job = start_layout(board, np.packbits(np.arange(ROWS) >= 30, bitorder="little").tobytes())
    elms = {"kind": ColumnFilter(values=[NAMES[1]])}
    everything = [-1e4, -1e4, 1e4, -1e4, 1e4, 1e4, -1e4, 1e4]
    inside = board.projector.inside(OutlineRequest(job, outline=everything, filters=elms))
    assert inside.rows.tolist() == list(range(33, ROWS, 4))
    bits = np.packbits(np.arange(ROWS) < 38, bitorder="little").tobytes()
    positions = board.projector.positions(PositionsRequest(job, rows=bits, filters=elms))
    assert positions.rows.tolist() == [33, 37]


def test_layout_without_coordinates(board: Board) -> None:
    job = start_layout(board)
    assert board.projector.layout(LayoutRequest(job)).coordinates
    assert not board.projector.layout(LayoutRequest(job, coordinates=False)).coordinates


def test_points_are_found_by_position_in_a_layout_of_some_rows(board: Board) -> None:
    rows = np.packbits(np.arange(ROWS) >= 30, bitorder="little").tobytes()
    job = start_layout(board, rows)
    layout = board.projector.layout(LayoutRequest(job))
    x, y = float(layout.coordinates[0][5]), float(layout.coordinates[1][5])
    found = board.projector.nearest(NearestRequest(job, x=x, y=y, radius=1e-3))
    assert (found.row, found.x) == (35, pytest.approx(x))
    missing = board.projector.nearest(NearestRequest(job, x=1e4, y=y, radius=1e-3))
    assert missing.row is None
    box = [x - 1e-3, y - 1e-3, x + 1e-3, y - 1e-3, x + 1e-3, y + 1e-3, x - 1e-3, y + 1e-3]
    assert board.projector.inside(OutlineRequest(job, outline=box)).rows.tolist() == [35]
    bits = np.packbits(np.isin(np.arange(ROWS), [3, 35, 40]), bitorder="little").tobytes()
    positions = board.projector.positions(PositionsRequest(job, rows=bits))
    assert positions.rows.tolist() == [35, 40]
    assert positions.x[0] == pytest.approx(x)
    sample = board.projector.positions(PositionsRequest(job, rows=bits, limit=1))
    assert len(sample.rows) == 1


def test_regions_are_named_by_words_of_their_labels(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    kinds = np.arange(400) % 4
    centers = np.array([[0, 0, 0], [30, 0, 0], [0, 20, 0], [30, 20, 0]])
    np.save(logdir / "words.npy", (centers[kinds] + rng.normal(size=(400, 3))).astype(np.float32))
    lines = [f"{NAMES[kind]} number {row}\tplant" for row, kind in enumerate(kinds)]
    (logdir / "words.tsv").write_text("name\tclass\n" + "\n".join(lines) + "\n")
    (logdir / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "words" tensor_path: "words.npy" metadata_path: "words.tsv" }'
    )
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    board = Board(logdir, tmp_path / "cache")
    status = board.projector.project(ProjectionRequest(board.find("words").id))
    board.wait(status)
    for axes in ([0, 1], [0, 1, 2]):
        found = board.projector.regions(RegionsRequest(status.job, axes=axes)).regions
        # Words that all labels have ("number", "plant") tell nothing apart.
        assert {region.name for region in found} == set(NAMES)
        assert all(len(region.position) == len(axes) for region in found)
        assert sum(region.count for region in found) > 300
    board.close()


def test_similar_points_of_a_text(board: Board) -> None:
    trees = board.find("trees")
    source = EmbeddingRequest(trees.id)
    found = board.projector.similar(SimilarRequest(trees.id, source=source, text="OAK 0", count=5))
    assert found.source_labels == ["oak 0"]
    assert 0 not in found.rows
    assert len(found.rows) == 5
    assert (np.diff(found.distances) >= 0).all()
    several = board.projector.similar(SimilarRequest(trees.id, source=source, text="elm"))
    # No label is "elm": the mean of all labels that contain it.
    assert several.source_count == ROWS // 4
    with pytest.raises(UsageError, match='no point of the source has the label "palm"'):
        board.projector.similar(SimilarRequest(trees.id, source=source, text="palm"))


def test_similar_points_need_equal_dimensions(board: Board, logdir: Path) -> None:
    np.save(logdir / "short.npy", np.zeros((3, 2), np.float32))
    board.catalog.refresh()
    trees, short = board.find("trees"), board.find("short")
    request = SimilarRequest(short.id, source=EmbeddingRequest(trees.id), text="oak 0")
    with pytest.raises(UsageError, match="dimensions"):
        board.projector.similar(request)


def test_similar_points_of_an_image(logdir: Path, board: Board) -> None:
    sheet = Image.new("RGB", (64, 72), "red")
    sheet.paste(Image.new("RGB", (8, 9), "blue"), (5 * 8, 2 * 9))
    sheet.save(logdir / "sprite.png")
    board.catalog.refresh()
    trees = board.find("trees")
    file = io.BytesIO()
    Image.new("RGB", (100, 80), (10, 10, 240)).save(file, "jpeg")
    request = SimilarRequest(trees.id, source=EmbeddingRequest(trees.id), image=file.getvalue())
    assert board.projector.similar(request).source_rows == [2 * 8 + 5]
    text = SimilarRequest(trees.id, source=EmbeddingRequest(trees.id), image=b"no image")
    with pytest.raises(FormatError, match="the file is not an image that can be decoded"):
        board.projector.similar(text)
