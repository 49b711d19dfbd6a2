from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests import builders as b
from tests.index import logs
from tests.server.columns_decoder import read_columns
from tests.server.memory_source import MemoryWatch
from tracklight.errors import LogError, UsageError
from tracklight.index.catalog import Catalog
from tracklight.plugin import Blob
from tracklight.server import static_export
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.server.notes import NotesStore, RunNoteUpdate
from tracklight.server.static_export import ExportContents, parse_view, write_static_export
from tracklight.util.files import get_notes_path

NASTY = "</script><b>\u2028"


class Everything:
    """A container of everything."""

    def __contains__(self, _: object) -> bool:
        return True


@pytest.fixture(autouse=True)
def built_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the built page, which these tests do not need."""
    assets = {"board.js": "start('</script>')", "board.css": "body{}"}
    monkeypatch.setattr(static_export, "read_asset", lambda name: assets[name])


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    logdir = tmp_path / "private" / "logs"
    logs.write(logdir, "a", logs.points(range(5)) + logs.points(range(3), tag=NASTY))
    logs.write(logdir, "b", logs.points(range(7)))
    logs.write(logdir, "c", b.scalar("other", 0, 1.0))
    catalog = logs.open_catalog(logdir)
    yield catalog
    catalog.close()


def export(catalog: Catalog, target: Path, view: str = "") -> None:
    write_static_export(
        ExportContents(catalog, parse_view(view), Everything(), Everything()), target
    )


def read_head(script: str) -> dict[str, Any]:
    head: dict[str, Any] = json.loads(script.split("tracklight.head=")[1].rstrip().rstrip(";"))
    return head


def read_parts(text: str) -> dict[str, Any]:
    parts = re.findall(r'tracklight\.put\(("[^"]*"),"([^"]*)"\)', text)
    return {
        json.loads(url): read_columns(zlib.decompress(base64.b64decode(data), wbits=-15))
        for url, data in parts
    }


def test_writes_folder_with_page_and_data(catalog: Catalog, tmp_path: Path) -> None:
    target = tmp_path / "export"
    export(catalog, target, "?selected=none;%2Ba,b&smoothing=0.5")
    html = (target / "index.html").read_text()
    assert re.findall(r'(?:src|href)="([^"]+)"', html) == ["board.css", "data/board.js", "board.js"]
    script = (target / "data/board.js").read_text()
    head = read_head(script)
    assert head["view"] == "selected=none%3B%2Ba%2Cb&smoothing=0.5"
    assert [run["name"] for run in head["responses"]["api/v1/runs"]["runs"]] == ["a", "b"]
    assert {tag["tag"] for tag in head["responses"]["api/v1/tags"]["tags"]} == {NASTY, "loss"}
    files = json.loads(script.split("tracklight.files=")[1].split(";tracklight.head")[0])
    parts: dict[str, Any] = {}
    for url, name in files.items():
        part = read_parts((target / name).read_text())
        assert list(part) == [url]
        parts |= part
    tags = {one["tag"]: one for one in parts["api/v1/scalars/series"]["tags"]}
    assert tags["loss"]["runs"] == ["a", "b"]
    series = parts[f"api/v1/scalars/{tags['loss']['path']}"]["series"]
    assert [list(one["value"]) for one in series] == [[*range(5)], [*range(7)]]


def test_writes_one_file(catalog: Catalog, tmp_path: Path) -> None:
    target = tmp_path / "board.html"
    export(catalog, target)
    html = target.read_text(encoding="utf-8")
    assert html.count("<script>") == html.count("</script>") == 6
    assert "src=" not in html and "href=" not in html
    assert NASTY not in html and "\u2028" not in html
    assert len(read_parts(html)) == 4


def test_export_does_not_contain_the_path_of_the_log(catalog: Catalog, tmp_path: Path) -> None:
    target = tmp_path / "board.html"
    export(catalog, target)
    assert "private" not in target.read_text(encoding="utf-8")


def test_only_notes_on_exported_runs_are_exported(catalog: Catalog, tmp_path: Path) -> None:
    store = NotesStore(get_notes_path(root.path for root in catalog.roots))
    store.update(
        lambda notes: notes.with_run_update(RunNoteUpdate(["a", "b"], alias="mine", note="secret"))
    )
    export(catalog, tmp_path / "export", "selected=none;%2Bb&color=group")
    head = read_head((tmp_path / "export/data/board.js").read_text())
    notes = head["responses"]["api/v1/notes"]["runs"]
    assert (notes["b"]["alias"], notes["b"]["note"]) == ("mine", "secret")
    assert (notes["a"]["note"], notes["a"]["hidden"]) == ("", True)


def test_run_table_is_exported(catalog: Catalog, tmp_path: Path) -> None:
    export(catalog, tmp_path / "export")
    head = read_head((tmp_path / "export/data/board.js").read_text())
    assert head["columns"]["runs"] == ["a", "b", "c"]
    assert head["columns"]["columns"]["max:loss"] == [4.0, 6.0, None]


def test_runs_needed_for_colors_are_hidden(catalog: Catalog, tmp_path: Path) -> None:
    export(catalog, tmp_path / "export", "selected=none;%2Bb&color=group")
    head = read_head((tmp_path / "export/data/board.js").read_text())
    assert [run["name"] for run in head["responses"]["api/v1/runs"]["runs"]] == ["a", "b", "c"]
    notes = head["responses"]["api/v1/notes"]["runs"]
    assert {run: note["hidden"] for run, note in notes.items()} == {"a": True, "c": True}
    assert [tag["tag"] for tag in head["responses"]["api/v1/tags"]["tags"]] == ["loss"]
    assert head["columns"]["columns"]["max:loss"] == [4.0, 6.0, None]


def test_only_selected_tags_are_exported(catalog: Catalog, tmp_path: Path) -> None:
    write_static_export(
        ExportContents(catalog, parse_view(""), {"a"}, {"loss"}), tmp_path / "board.html"
    )
    parts = read_parts((tmp_path / "board.html").read_text())
    assert [one["tag"] for one in parts["api/v1/scalars/series"]["tags"]] == ["loss"]
    assert len(parts) == 2


def test_view_without_runs_raises_log_error(catalog: Catalog, tmp_path: Path) -> None:
    with pytest.raises(LogError, match="shows no run"):
        export(catalog, tmp_path / "export", "selected=none")


def test_existing_files_are_not_overwritten(catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").touch()
    with pytest.raises(UsageError, match="new or empty"):
        export(catalog, tmp_path / "full")


def test_too_large_file_raises_usage_error(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracklight.server.static_export._MAX_FILE_BYTES", 10)
    with pytest.raises(UsageError, match="export to a directory"):
        export(catalog, tmp_path / "board.html")
    assert not (tmp_path / "board.html").exists()


def test_values_round_trip(tmp_path: Path) -> None:
    values = [1e300, 0.1, float("nan"), -float("inf"), 5e-324]
    text = b"".join(b.record(_double(step, value)) for step, value in enumerate(values))
    logs.write(tmp_path / "logs", "run", text)
    catalog = logs.open_catalog(tmp_path / "logs")
    export(catalog, tmp_path / "board.html")
    parts = read_parts((tmp_path / "board.html").read_text())
    np.testing.assert_array_equal(parts["api/v1/scalars/series/0"]["series"][0]["value"], values)
    catalog.close()


def _double(step: int, value: float) -> bytes:
    content = b.content(np.array(value).tobytes())
    return b.event(b.summary(b.value("loss", b.tensor(2, content))), step=step, wall=1.7e9 + step)


def test_blobs_have_bytes_and_media_type() -> None:
    content = bytes(range(256)) * 8
    packed = base64.b64decode(
        static_export.pack_response(Blob(content, "image/png", immutable=True))
    )
    file = read_columns(zlib.decompress(packed, wbits=-15))
    assert file["media_type"] == "image/png"
    assert file["content"].tobytes() == content


def write_tutorial_embeddings(folder: Path) -> None:
    """Write a config, vectors and labels without an event file, as tutorials do."""
    folder.mkdir(parents=True)
    rows = np.random.default_rng(0).normal(size=(20, 4))
    np.savetxt(folder / "tensors.tsv", rows, delimiter="\t")
    (folder / "metadata.tsv").write_text("".join(f"word {row}\n" for row in range(20)))
    (folder / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "words" tensor_path: "tensors.tsv" '
        'metadata_path: "metadata.tsv" }\n'
    )


@pytest.mark.parametrize("has_runs", [True, False])
def test_embeddings_without_event_files_are_exported(tmp_path: Path, has_runs: bool) -> None:
    write_tutorial_embeddings(tmp_path / "logs" / "words")
    if has_runs:
        logs.write(tmp_path / "logs", "a", logs.points(range(5)))
    catalog = logs.open_catalog(tmp_path / "logs")
    export(catalog, tmp_path / "board")
    catalog.close()
    files = sorted(path.name for path in (tmp_path / "board" / "data").iterdir())
    assert [name for name in files if name.startswith("projector-")]
    head = (tmp_path / "board" / "data" / "board.js").read_text()
    assert "api/v1/projector/embeddings" in head


def test_exported_runs_keep_the_colors_of_the_log(catalog: Catalog, tmp_path: Path) -> None:
    target = tmp_path / "view.html"
    heads = []
    for view in ("", "selected=none;%2Bc"):
        export(catalog, target, view)
        script = re.findall(r"<script>(.*?)</script>", target.read_text("utf-8"), re.DOTALL)[0]
        heads.append(read_head(script))
    whole, part = heads
    assert len({*whole["run_colors"].values()}) == 3
    assert part["run_colors"] == {"c": whole["run_colors"]["c"]}


def test_server_exports_a_view(catalog: Catalog) -> None:
    policy = create_policy("localhost")
    client = TestClient(create_app(catalog, MemoryWatch(), policy), base_url="http://localhost")
    response = client.post("/api/v1/export", json={"view": "?selected=none;%2Bb"})
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    script = re.findall(r"<script>(.*?)</script>", response.text, re.DOTALL)[0]
    runs = read_head(script)["responses"]["api/v1/runs"]["runs"]
    assert [run["name"] for run in runs] == ["b"]
    nothing = client.post("/api/v1/export", json={"view": "selected=none"})
    assert nothing.status_code == 404
    assert "shows no runs" in nothing.json()["error"]["message"]
    assert nothing.json()["error"]["code"] == "export.no_runs"
