"""docs/http-api.md is up to date and complete, and every route in it works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.analysis.profiles.sample_captures import read_bytes
from tests.index import logs
from tests.server.waiting import wait_until
from tools.type_names import name_struct
from tools.write_http_api import TARGET, collect_routes, collect_structs, write_text
from tracklight.analysis.embeddings.loading import Embedding
from tracklight.analysis.profiles.captures.files import make_capture_id
from tracklight.dashboards.graphs.library import RUN_GRAPH_TAG, make_graph_id
from tracklight.dashboards.projector.library import assign_ids
from tracklight.formats.media import encode_png, encode_wav
from tracklight.logdir.watch import Watcher
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy

RULE = {"id": "r", "tag": "loss", "kind": "above", "value": 9.0}
SCALARS = {"tags": ["loss"]}
PICTURE = {"run": "conv", "tag": "picture", "index": 0}
WORDS = {"run": "conv", "tag": "words", "index": 0}
CLIP = {"run": "conv", "tag": "clip", "index": 0}
CLOUD = {"run": "conv", "tag": "cloud", "index": 0}
GRAPH = {"id": make_graph_id("conv", RUN_GRAPH_TAG, "graphs")}
CAPTURE = {"capture": make_capture_id("conv", "xplane", "now")}
VECTORS = {"id": next(iter(assign_ids([Embedding("conv", "cats")])))}
#: The one that was started before.
JOB: dict[str, Any] = {}

#: What takes a file instead of JSON.
FILES = {
    "POST api/graphs/upload": b"\x0a\x03\x0a\x01x",
    "POST api/projector/upload": b"a\t1\t2\nb\t3\t5\n",
}

#: A sensible ask for every address; words in braces are filled in from answers before it.
ASKS: dict[str, dict[str, Any] | list[Any]] = {
    "GET api/health": {},
    "GET api/openapi.json": {},
    "GET api/status": {},
    "GET api/dashboards": {},
    "GET api/runs": {},
    "GET api/tags": {"run": "conv"},
    "POST api/tags": {"runs": ["conv"]},
    "GET api/files": {"damaged": "1"},
    "GET api/live/poll": {"since": ""},
    "GET api/blobs": {"run": "conv", "tag": "picture"},
    "GET api/blobs/{fingerprint}": {"run": "conv", "tag": "picture", "index": 0},
    "GET api/runs/columns": {},
    "POST api/runs/columns": {"columns": ["last:loss"]},
    "GET api/notes": {},
    "PATCH api/notes/runs": {"names": ["conv"], "alias": "best"},
    "POST api/notes/annotations": {"step": 1, "text": "here"},
    "DELETE api/notes/annotations/{id}": {},
    "PUT api/notes/layouts": {"name": "mine", "categories": []},
    "PUT api/alerts/rules": [RULE],
    "GET api/custom_scalars/layout": {},
    "POST api/scalars/query": {"charts": [{"id": "a", "tags": ["loss"]}]},
    "POST api/scalars/at": {**SCALARS, "at": 1},
    "POST api/scalars/range": SCALARS,
    "POST api/scalars/table": SCALARS,
    "GET api/scalars/table": SCALARS,
    "POST api/images/steps": {"tags": ["picture"]},
    "GET api/images/about": PICTURE,
    "GET api/images/picture": PICTURE,
    "GET api/images/thumbnail": PICTURE,
    "GET api/images/tile": PICTURE,
    "GET api/images/pixels": PICTURE,
    "GET api/images/file": PICTURE,
    "GET api/images/archive": {"tag": "picture"},
    "POST api/images/archive": {"tag": "picture"},
    "POST api/text/steps": {"tags": ["words"]},
    "GET api/text/render": WORDS,
    "GET api/text/raw": WORDS,
    "POST api/text/search": {"query": "cat", "tags": ["words"]},
    "POST api/text/diff": {"before": WORDS, "after": WORDS},
    "POST api/pr_curves/steps": {"tags": ["pr"]},
    "POST api/pr_curves/curves": {"tags": ["pr"], "step": 1},
    "GET api/pr_curves/curve": {"run": "conv", "tag": "pr", "index": 0},
    "POST api/pr_curves/history": {"tags": ["pr"]},
    "POST api/histograms/query": {"charts": [{"id": "a", "tag": "w"}]},
    "POST api/histograms/steps": {"tags": ["w"]},
    "GET api/histograms/exact": {"run": "conv", "tag": "w", "index": 0},
    "POST api/histograms/table": {"tags": ["w"]},
    "GET api/histograms/table": {"tags": ["w"]},
    "POST api/audio/steps": {"tags": ["clip"]},
    "GET api/audio/about": CLIP,
    "GET api/audio/clip": CLIP,
    "GET api/audio/waveform": CLIP,
    "GET api/audio/spectrogram": CLIP,
    "POST api/mesh/steps": {"tags": ["cloud"]},
    "GET api/mesh/about": CLOUD,
    "GET api/mesh/geometry": CLOUD,
    "GET api/mesh/file": CLOUD,
    "GET api/graphs/graphs": {},
    "GET api/graphs/about": GRAPH,
    "GET api/graphs/group": GRAPH,
    "POST api/graphs/groups": {**GRAPH, "groups": [""]},
    "GET api/graphs/statistics": GRAPH,
    "GET api/graphs/paint": {**GRAPH, "by": "op"},
    "GET api/graphs/node": {**GRAPH, "path": "x"},
    "GET api/graphs/changes": {"id": f"compare~{GRAPH['id']}~{GRAPH['id']}"},
    "GET api/graphs/search": {**GRAPH, "query": "x"},
    "GET api/graphs/trace": {**GRAPH, "path": "x"},
    "GET api/graphs/path": {**GRAPH, "start": "x", "end": "x"},
    "GET api/graphs/file": GRAPH,
    "POST api/graphs/upload": {"name": "model.pb"},
    "GET api/projector/embeddings": {},
    "GET api/projector/about": VECTORS,
    "GET api/projector/column": {**VECTORS, "name": "label"},
    "GET api/projector/sprite": VECTORS,
    "GET api/projector/picture": VECTORS,
    "GET api/projector/point": VECTORS,
    "POST api/projector/project": {**VECTORS, "method": {"type": "pca"}},
    "DELETE api/projector/project": JOB,
    "GET api/projector/layout": JOB,
    "GET api/projector/quality": JOB,
    "POST api/projector/neighbours": {**VECTORS, "row": 1},
    "POST api/projector/search": {**VECTORS, "query": "cat"},
    "POST api/projector/match": {**VECTORS, "other": VECTORS},
    "POST api/projector/cluster": {**VECTORS, "method": {"type": "kmeans", "count": 2}},
    "GET api/projector/clusters": JOB,
    "POST api/projector/edit": {**VECTORS, "rows": "AQ==", "column": "label", "text": "cat"},
    "GET api/projector/bookmarks": VECTORS,
    "POST api/projector/bookmark": {**VECTORS, "name": "top", "state": "{}"},
    "GET api/projector/file": {**VECTORS, "what": "labels"},
    "POST api/projector/upload": {"name": "v.tsv"},
    "GET api/profile/captures": {},
    "GET api/profile/opening": CAPTURE,
    "GET api/profile/tools": CAPTURE,
    "GET api/profile/hosts": CAPTURE,
    "GET api/profile/file": CAPTURE,
    "GET api/profile/overview": CAPTURE,
    "GET api/profile/steps": CAPTURE,
    "GET api/profile/input": CAPTURE,
    "GET api/profile/compare": {**CAPTURE, "before": CAPTURE["capture"]},
    "GET api/profile/ops": CAPTURE,
    "GET api/profile/kernels": CAPTURE,
    "GET api/profile/memory": CAPTURE,
    "GET api/profile/heap": CAPTURE,
    "GET api/profile/program": CAPTURE,
    "GET api/profile/program/text": CAPTURE,
    "GET api/profile/roofline": CAPTURE,
    "POST api/profile/timeline": CAPTURE,
    "POST api/profile/timeline/tiles": {**CAPTURE, "level": 30, "tracks": [0]},
    "POST api/profile/timeline/event": {**CAPTURE, "event": 1},
    "POST api/profile/timeline/search": {**CAPTURE, "query": "conv"},
    "POST api/profile/timeline/selection": {**CAPTURE, "end": 1e12, "tracks": [0]},
    "POST api/profile/timeline/flows": {**CAPTURE, "end": 1e12, "tracks": [0]},
    "GET api/hparams/sessions": {"how": "min", "over": "mean"},
    "GET api/hparams/importance": {"metric": "|loss"},
    "POST api/hparams/importance": {"metric": "|loss", "sessions": ["conv"]},
    "GET api/hparams/sparklines": {"metric": "|loss"},
    "POST api/hparams/sparklines": {"metric": "|loss", "sessions": ["conv"]},
    "GET api/hparams/export": {"format": "csv"},
    "POST api/hparams/export": {"format": "latex", "columns": ["name", "metric:|loss"]},
}


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setenv("TRACKLIGHT_DATA", str(tmp_path / "data"))
    values = logs.picture(1, encode_png(np.zeros((2, 2), np.uint8)))
    values += logs.clip(1, encode_wav(np.ones(9), 8000))
    values += logs.histogram(1, [(0.0, 1.0, 5.0)])
    values += logs.text(1, "a cat")
    values += logs.cloud(1, [[0, 0, 0], [1, 2, 3]])
    values += logs.graph("x")
    values += logs.pr_curve(1, [[1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0], [1, 0]])
    values += logs.hparams({"lr": 0.1})
    logs.write(tmp_path / "logs", "conv", logs.points(range(3)) + values)
    capture = tmp_path / "logs/conv/plugins/profile/now/vm.xplane.pb"
    capture.parent.mkdir(parents=True)
    capture.write_bytes(read_bytes("jit_steps"))
    _write_vectors(tmp_path / "logs/conv")
    catalog = logs.open_catalog(tmp_path / "logs")
    with Watcher(catalog.roots) as watch:
        app = create_app(catalog, watch, create_policy("localhost"), page_dir=tmp_path)
        with TestClient(app, base_url="http://localhost") as client:
            wait_until(lambda: not client.get("/api/status").json()["status"]["loading"])
            yield client
    catalog.close()


def _write_vectors(run: Path) -> None:
    np.save(run / "cats.npy", np.random.default_rng(0).normal(size=(9, 4)))
    (run / "labels.tsv").write_text("cat\n" * 9)
    (run / "cats.png").write_bytes(encode_png(np.zeros((6, 6), np.uint8)))
    (run / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "cats" tensor_path: "cats.npy" metadata_path: "labels.tsv" '
        'sprite { image_path: "cats.png" single_image_dim: 2 single_image_dim: 2 } }'
    )


@pytest.fixture(scope="module")
def text() -> str:
    return write_text()


def test_the_page_is_what_the_code_says(text: str) -> None:
    assert TARGET.read_text(encoding="utf-8") == text, "run python -m tools.write_http_api"


def test_inherited_docstrings_are_left_out(text: str) -> None:
    assert msgspec.Struct.__doc__ is not None
    for line in msgspec.Struct.__doc__.splitlines():
        # Short lines, such as "Examples", may occur by chance.
        if len(line.strip()) > 30:
            assert line.strip() not in text


def test_every_route_has_one_row_with_its_types_and_description(text: str) -> None:
    routes = collect_routes()
    assert len(routes) > 100
    for route in routes:
        start = f"| `{route.method} api/{route.path}` | "
        (row,) = (line for line in text.splitlines() if line.startswith(start))
        assert route.handler.__doc__ is not None
        first_words = route.handler.__doc__.replace("``", "`").split()[:4]
        assert " ".join(first_words) in row
        for struct in collect_structs([route]):
            if struct is route.request_type:
                assert f"[{name_struct(struct)}](#" in row


def test_every_field_of_every_struct_is_listed_once(text: str) -> None:
    """In the table of the struct itself, or of the struct that it says it extends."""
    sections = _read_sections(text)
    structs = collect_structs(collect_routes())
    assert len(structs) > 200
    for struct in structs:
        section = sections[name_struct(struct)]
        fields = re.findall(r"^\| `(.*?)` \|", section, re.M)
        base = re.search(r"Has all fields of \[(.*?)\]", section)
        while base:
            fields += re.findall(r"^\| `(.*?)` \|", sections[base[1]], re.M)
            base = re.search(r"Has all fields of \[(.*?)\]", sections[base[1]])
        config = struct.__struct_config__
        tag = [config.tag_field] if config.tag is not None else []
        expected = [field.encode_name for field in msgspec.structs.fields(struct)]
        assert sorted(fields) == sorted(tag + expected), name_struct(struct)


def test_fields_have_types_defaults_and_descriptions(text: str) -> None:
    sections = _read_sections(text)
    assert "| `part` | integer (from 0) | `0` |" in sections["BlobAsk"]
    assert '| `type` | `"pca"` |' in sections["projector.Pca"]
    assert "With it, the answer can never be another one." in sections["ValueAsk"]


def _read_sections(text: str) -> dict[str, str]:
    """The text below each heading."""
    parts = re.split(r"^#{2,3} (.*)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_no_two_shapes_share_a_name(text: str) -> None:
    headings = re.findall(r"^### (.*)", text, re.MULTILINE)
    assert len(headings) == len(set(headings))


def test_every_link_leads_somewhere(text: str) -> None:
    anchors = {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)", text, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#(.*?)\)", text)) <= anchors


def test_every_address_answers(client: TestClient) -> None:
    documented = re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) .*?)` ", TARGET.read_text(), re.M)
    assert set(documented) == set(ASKS)
    known: dict[str, str] = {}
    for name in documented:
        method, path = name.split()
        in_query = method in ("GET", "DELETE") or name in FILES
        ask = {"job": known["job"]} if ASKS[name] is JOB else ASKS[name]
        how = {"params" if in_query else "json": ask, "content": FILES.get(name)}
        answer = client.request(method, "/" + path.format(**known), **how)
        assert answer.status_code == 200, (name, answer.text)
        if name == "GET api/blobs":
            known["fingerprint"] = answer.json()["fingerprint"][0]
        if name == "POST api/projector/project":
            known["job"] = answer.json()["job"]
            layout = f"/api/projector/layout?job={known['job']}"
            wait_until(lambda layout=layout: client.get(layout).json()["places"])
        if name == "POST api/notes/annotations":
            known["id"] = answer.json()["annotations"][0]["id"]
