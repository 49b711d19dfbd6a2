from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

from tests.builders import scalar
from tests.dashboards.projector.conftest import ROWS, Board
from tests.small_log import write
from tracklight.dashboards.projector import StaticEmbedding
from tracklight.dashboards.projector.schemas import (
    BookmarkRequest,
    ColumnRequest,
    EditRequest,
    EmbeddingFileRequest,
    EmbeddingRequest,
    PointRequest,
    ProjectionRequest,
    SearchRequest,
)
from tracklight.errors import SaveError, UsageError


def read_file(board: Board, request: EmbeddingFileRequest) -> str:
    file = board.projector.file(request)
    assert file.filename.endswith(".tsv")
    return b"".join(file.chunks).decode()


def test_edited_labels_are_searched_counted_and_saved(
    board: Board, logdir: Path, tmp_path: Path
) -> None:
    trees = board.find("trees").id
    assert (
        board.projector.edit(EditRequest(trees, rows=b"\x07", column="kind", text="tree")).changed
        == 3
    )
    board.projector.edit(EditRequest(trees, rows=b"\x04", column="kind", text="bush"))
    response = board.projector.edit(EditRequest(trees, rows=b"\x01", column="seen", text="yes"))
    assert (response.revision, response.changed) == (3, 1)
    again = Board(logdir, tmp_path / "cache")
    info = again.projector.about(EmbeddingRequest(trees))
    assert (info.revision, [it.name for it in info.columns][-1]) == (3, "seen")
    counts = {it.text: it.count for it in info.columns[1].values}
    assert (counts["tree"], counts["bush"], counts["oak"]) == (2, 1, 14)
    assert again.projector.search(SearchRequest(trees, query="bush")).rows.tolist() == [2]
    cells = again.projector.point(PointRequest(trees, row=0)).cells
    assert [it.text for it in cells] == ["oak 0", "tree", "0.0", "yes"]
    assert again.projector.column(ColumnRequest(trees, name="seen")).ends.tolist() == [3, 3]
    again.close()


def test_edit_does_not_restart_layouts_without_labels(board: Board) -> None:
    trees = board.find("trees").id
    before = board.projector.project(ProjectionRequest(trees)).job
    board.projector.edit(EditRequest(trees, rows=b"\x01", column="kind", text="tree"))
    assert board.projector.project(ProjectionRequest(trees)).job == before


def test_rejects_edits_that_cannot_be_saved(board: Board, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("not a directory")
    with pytest.raises(SaveError, match="could not save"):
        board.projector.bookmark(BookmarkRequest("x", "here", "{}"))


def get_edits_path(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "data" / "notes").glob("*.projector.json")
    return path


def test_edits_that_cannot_be_read_are_not_overwritten(
    board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trees = board.find("trees").id
    board.projector.edit(EditRequest(trees, rows=b"\x01", column="kind", text="precious"))
    path = get_edits_path(tmp_path)
    written = path.read_bytes()
    again = Board(tmp_path / "logs", tmp_path / "cache")
    read_bytes = Path.read_bytes

    def fail_for_edits(self: Path) -> bytes:
        if self == path:
            raise OSError(5, "Input/output error")
        return read_bytes(self)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fail_for_edits)
        with pytest.raises(SaveError, match="Input/output error"):
            again.projector.edit(EditRequest(trees, rows=b"\x02", column="kind", text="new"))
        with pytest.raises(SaveError, match="Input/output error"):
            again.projector.bookmark(BookmarkRequest(trees, "a", "1"))
        assert again.projector.about(EmbeddingRequest(trees)).columns
    assert path.read_bytes() == written
    again.projector.edit(EditRequest(trees, rows=b"\x02", column="kind", text="new"))
    cells = [again.projector.point(PointRequest(trees, row=row)).cells[1].text for row in (0, 1)]
    assert cells == ["precious", "new"]
    again.close()


@pytest.mark.parametrize("content", [b"", b'{"x": {"edits": 5}}', b'{"trees": {"revi'])
def test_damaged_edits_are_renamed_and_reported(
    board: Board, tmp_path: Path, content: bytes
) -> None:
    trees = board.find("trees").id
    board.projector.edit(EditRequest(trees, rows=b"\x01", column="kind", text="old"))
    assert board.projector.point(PointRequest(trees, row=0)).cells[1].text == "old"
    path = get_edits_path(tmp_path)
    path.write_bytes(content)
    board.projector.edit(EditRequest(trees, rows=b"\x02", column="kind", text="new"))
    (renamed,) = path.parent.glob("*.damaged-*")
    assert renamed.read_bytes() == content
    info = board.projector.about(EmbeddingRequest(trees))
    texts = [problem.text for problem in info.problems]
    assert any("is damaged" in text and renamed.name in text for text in texts)
    cells = [board.projector.point(PointRequest(trees, row=row)).cells[1].text for row in (0, 1)]
    assert cells == ["oak", "new"]


def test_views_are_saved_by_name(board: Board) -> None:
    trees = board.find("trees").id
    for name, state in (("a", "1"), ("b", "2"), ("a", "3")):
        saved = board.projector.bookmark(BookmarkRequest(trees, name, state)).saved
    assert [(it.name, it.state) for it in saved] == [("b", "2"), ("a", "3")]
    board.projector.bookmark(BookmarkRequest(trees, "b"))
    response = board.projector.bookmarks(EmbeddingRequest(trees))
    assert [it.name for it in response.saved] == ["a"]
    assert response.bookmarks == []


def test_reads_bookmarks_beside_the_vectors(board: Board, logdir: Path) -> None:
    config = (logdir / "projector_config.pbtxt").read_text()
    (logdir / "state.json").write_text(json.dumps([{"label": "top", "selectedPoints": [3]}]))
    (logdir / "projector_config.pbtxt").write_text(
        config.replace("sprite {", 'bookmarks_path: "state.json" sprite {')
    )
    board.catalog.refresh()
    trees = board.find("trees")
    assert trees.has_bookmarks
    (view,) = board.projector.bookmarks(EmbeddingRequest(trees.id)).bookmarks
    assert (view.label, view.selected_points) == ("top", [3])


def test_labels_vectors_and_layouts_are_exported(board: Board) -> None:
    trees = board.find("trees").id
    header, first, *rest = read_file(
        board, EmbeddingFileRequest(trees, content="labels")
    ).splitlines()
    assert (header, first, len(rest)) == ("tree\tkind\theight", "oak 0\toak\t0.0", ROWS - 1)
    vectors = np.loadtxt(
        io.StringIO(read_file(board, EmbeddingFileRequest(trees, content="vectors"))), np.float32
    )
    raw = board.projector.file(EmbeddingFileRequest(trees, content="vectors", format="npy"))
    assert raw.filename == "trees-vectors.npy"
    np.testing.assert_array_equal(vectors, np.load(io.BytesIO(b"".join(raw.chunks))))
    job = board.wait(board.projector.project(ProjectionRequest(trees, rows=b"\x0c"))).job.job
    header, *rows = read_file(
        board, EmbeddingFileRequest(trees, content="layout", job=job)
    ).splitlines()
    assert header.split("\t") == ["row", "x", "tree", "kind", "height"]
    assert [row.split("\t")[0] for row in rows] == ["2", "3"]
    with pytest.raises(UsageError, match="job of the layout is missing"):
        board.projector.file(EmbeddingFileRequest(trees, content="layout"))
    with pytest.raises(UsageError, match="no labels"):
        board.projector.file(EmbeddingFileRequest(board.find("loose").id, content="labels"))


def test_static_export_has_the_initial_view(board: Board) -> None:
    parts = dict(board.projector.export_static(["."]))
    trees = board.find("trees")
    embedding = parts[f"copy/{trees.id}"]
    assert isinstance(embedding, StaticEmbedding)
    assert embedding.info.step == 200
    assert [column.name for column in embedding.columns] == ["tree", "kind", "height"]
    assert [len(layout.coordinates) for layout in embedding.layouts] == [10, 2]
    assert embedding.vectors is not None and len(embedding.vectors) == ROWS * 10
    mark = trees.versions[1].mark
    assert f"sprite?id={trees.id}&index=1&mark={mark}&tile=0" in parts
    listed = parts["embeddings"]
    assert [len(row.versions) for row in listed.embeddings] == [1, 1]  # type: ignore[attr-defined]


def test_static_export_has_embeddings_of_selected_runs_and_of_no_run(
    board: Board, logdir: Path
) -> None:
    """Tutorials write embeddings to a directory without an event file."""
    for run in ("chosen", "other"):
        write(logdir / run, scalar("loss", 0, 0.5))
    for folder in ("chosen", "chosen/below", "other", "other/below", "alone"):
        (logdir / folder).mkdir(exist_ok=True)
        np.save(logdir / folder / "vectors.npy", np.eye(5, dtype=np.float32))
    board.catalog.refresh()
    listed = dict(board.projector.export_static(["chosen"]))["embeddings"]
    found = {row.run for row in listed.embeddings}  # type: ignore[attr-defined]
    assert found == {".", "chosen", "chosen/below", "alone"}
