"""docs/http-api.md is up to date and complete, and every route in it works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from markdown_it import MarkdownIt
from starlette.testclient import TestClient

from tests.analysis.profiles.sample_captures import read_bytes
from tests.archives import extract
from tests.index import logs
from tests.server.waiting import wait_until
from tools.type_names import name_struct
from tools.write_http_api import (
    TARGET,
    collect_routes,
    collect_structs,
    read_field_docs,
    write_text,
)
from tracklight.analysis.embeddings import Embedding
from tracklight.analysis.evaluation.report import PLUGIN_NAME, encode_evaluation
from tracklight.analysis.fairness import make_evaluation_id
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.profiles.captures import make_capture_id
from tracklight.analysis.source import DataAccess
from tracklight.analysis.tables.columns import make_column
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.workspace import Workspace
from tracklight.cli.demo.faulty_models import write_recording
from tracklight.dashboards.graphs import RUN_GRAPH_TAG, make_graph_id
from tracklight.dashboards.projector.library import assign_ids
from tracklight.fairness import evaluate
from tracklight.formats import proto, summary
from tracklight.formats.media import encode_png, encode_wav
from tracklight.formats.summary import encode_event
from tracklight.formats.tensor import encode_tensor
from tracklight.formats.tfrecord import encode_record
from tracklight.index.catalog import Catalog
from tracklight.logdir.watch import Watcher
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy

DATA = Path(__file__).parents[1] / "data"
DUMPS = DATA / "debug_events/dumps.tar.xz"
EVENT_FILE = "events.out.tfevents.1"
RULE = {"id": "r", "tag": "loss", "kind": "above", "value": 9.0}
SCALARS = {"tags": ["loss"]}
PICTURE = {"run": "conv", "tag": "picture", "index": 0}
WORDS = {"run": "conv", "tag": "words", "index": 0}
CLIP = {"run": "conv", "tag": "clip", "index": 0}
CLOUD = {"run": "conv", "tag": "cloud", "index": 0}
GRAPH = {"id": make_graph_id("conv", RUN_GRAPH_TAG, "graphs")}
CAPTURE = {"capture": make_capture_id("conv", "xplane", "now")}
RECORDING = {"source": "numbers"}
DUMP = {"source": "full_tensor"}
VECTORS = {"id": next(iter(assign_ids([Embedding("conv", "cats")])))}
EVALUATION = {"id": make_evaluation_id("logged", "conv", "fairness", 1, 1.7e9)}
PEOPLE = {"session": "people"}
#: Filled in with the job that was started before.
JOB: dict[str, Any] = {"job": ""}
WHAT_IF_JOB: dict[str, Any] = {"job": ""}

#: Routes that take a file instead of JSON.
FILES = {
    "POST api/v1/graphs/upload": b"\x0a\x03\x0a\x01x",
    "POST api/v1/profile/upload": (DATA / "profile/torch_ahead.pt.trace.json.gz").read_bytes(),
    "POST api/v1/graphs/upload_overlay": b"node,latency\nx,1.5\n",
    "POST api/v1/projector/upload": b"a\t1\t2\nb\t3\t5\n",
}

#: A valid request for every route; names in braces are filled in from previous responses.
REQUESTS: dict[str, dict[str, Any] | list[Any]] = {
    "GET api/v1/health": {},
    "GET api/v1/openapi.json": {},
    "POST api/v1/export": {"view": "?runs=conv"},
    "GET api/v1/status": {},
    "GET api/v1/dashboards": {},
    "GET api/v1/runs": {},
    "GET api/v1/tags": {"run": "conv"},
    "POST api/v1/tags": {"runs": ["conv"]},
    "GET api/v1/files": {"damaged": "1"},
    "GET api/v1/live/poll": {"since": ""},
    "GET api/v1/blobs": {"run": "conv", "tag": "picture"},
    "GET api/v1/blobs/{fingerprint}": {"run": "conv", "tag": "picture", "index": 0},
    "GET api/v1/runs/columns": {},
    "POST api/v1/runs/columns": {"columns": ["last:loss"]},
    "POST api/v1/runs/table": {"columns": ["name", "last:loss"]},
    "POST api/v1/runs/names": {"filter": "conv"},
    "POST api/v1/runs/list": {"filter": "conv", "group_by": "path:1"},
    "POST api/v1/runs/export": {"format": "csv"},
    "POST api/v1/runs/details": {"run": "conv"},
    "POST api/v1/runs/compare": {"runs": ["conv", "conv"]},
    "POST api/v1/runs/files": {"run": "conv"},
    "POST api/v1/runs/preview": {"run": "conv", "path": EVENT_FILE},
    "GET api/v1/runs/file": {"run": "conv", "path": EVENT_FILE},
    "POST api/v1/runs/console": {"run": "conv", "path": EVENT_FILE},
    "GET api/v1/notes": {},
    "PATCH api/v1/notes/runs": {"runs": ["conv"], "alias": "best"},
    "POST api/v1/notes/annotations": {"step": 1, "text": "here"},
    "DELETE api/v1/notes/annotations/{id}": {},
    "PUT api/v1/notes/layouts": {"name": "mine", "categories": []},
    "PUT api/v1/notes/metrics": {"name": "twice", "expression": "loss * 2"},
    "PUT api/v1/alerts/rules": [RULE],
    "GET api/v1/custom_scalars/layout": {},
    "PUT api/v1/workspaces/document": {
        "document": {"id": "board", "kind": "workspace", "name": "Board"}
    },
    "GET api/v1/workspaces/documents": {},
    "GET api/v1/workspaces/document": {"id": "board"},
    "PUT api/v1/workspaces/default": {"id": "board"},
    "GET api/v1/workspaces/versions": {"id": "board"},
    "GET api/v1/workspaces/version": {"id": "board", "revision": 1},
    "POST api/v1/workspaces/render": {"text": "# Title"},
    "DELETE api/v1/workspaces/document": {"id": "board", "expected": 1},
    "POST api/v1/scalars/query": {"charts": [{"id": "a", "tags": ["loss"]}]},
    "POST api/v1/scalars/at": {**SCALARS, "x_value": 1},
    "POST api/v1/scalars/range": SCALARS,
    "POST api/v1/scalars/table": SCALARS,
    "GET api/v1/scalars/table": SCALARS,
    "POST api/v1/images/steps": {"tags": ["picture"]},
    "GET api/v1/images/about": PICTURE,
    "GET api/v1/images/picture": PICTURE,
    "GET api/v1/images/thumbnail": PICTURE,
    "GET api/v1/images/tile": PICTURE,
    "GET api/v1/images/pixels": PICTURE,
    "GET api/v1/images/file": PICTURE,
    "GET api/v1/images/archive": {"tag": "picture"},
    "POST api/v1/images/archive": {"tag": "picture"},
    "POST api/v1/text/steps": {"tags": ["words"]},
    "GET api/v1/text/render": WORDS,
    "GET api/v1/text/raw": WORDS,
    "POST api/v1/text/search": {"query": "cat", "tags": ["words"]},
    "POST api/v1/text/diff": {"before": WORDS, "after": WORDS},
    "POST api/v1/pr_curves/steps": {"tags": ["pr"]},
    "POST api/v1/pr_curves/curves": {"tags": ["pr"], "step": 1},
    "GET api/v1/pr_curves/curve": {"run": "conv", "tag": "pr", "index": 0},
    "POST api/v1/pr_curves/history": {"tags": ["pr"]},
    "POST api/v1/histograms/query": {"charts": [{"id": "a", "tag": "w"}]},
    "POST api/v1/histograms/steps": {"tags": ["w"]},
    "GET api/v1/histograms/buckets": {"run": "conv", "tag": "w", "index": 0},
    "POST api/v1/histograms/table": {"tags": ["w"]},
    "GET api/v1/histograms/table": {"tags": ["w"]},
    "POST api/v1/audio/steps": {"tags": ["clip"]},
    "GET api/v1/audio/about": CLIP,
    "GET api/v1/audio/clip": CLIP,
    "GET api/v1/audio/waveform": CLIP,
    "GET api/v1/audio/spectrogram": CLIP,
    "POST api/v1/mesh/steps": {"tags": ["cloud"]},
    "GET api/v1/mesh/about": CLOUD,
    "GET api/v1/mesh/geometry": CLOUD,
    "GET api/v1/mesh/file": CLOUD,
    "GET api/v1/graphs/list": {},
    "GET api/v1/graphs/about": GRAPH,
    "GET api/v1/graphs/group": GRAPH,
    "POST api/v1/graphs/groups": {**GRAPH, "groups": [""]},
    "GET api/v1/graphs/statistics": GRAPH,
    "GET api/v1/graphs/paint": {**GRAPH, "by": "op"},
    "GET api/v1/graphs/node": {**GRAPH, "path": "x"},
    "GET api/v1/graphs/weights": {**GRAPH, "path": "c"},
    "GET api/v1/graphs/weights_file": {**GRAPH, "path": "c", "name": "value"},
    "GET api/v1/graphs/changes": {"id": f"compare~{GRAPH['id']}~{GRAPH['id']}"},
    "GET api/v1/graphs/search": {**GRAPH, "query": "x"},
    "GET api/v1/graphs/trace": {**GRAPH, "path": "x"},
    "GET api/v1/graphs/path": {**GRAPH, "start": "x", "end": "x"},
    "GET api/v1/graphs/file": GRAPH,
    "POST api/v1/graphs/upload": {"name": "model.pb"},
    "POST api/v1/graphs/upload_overlay": {"name": "latency.csv"},
    "GET api/v1/graphs/overlay": {**GRAPH, "overlay": ""},
    "GET api/v1/projector/embeddings": {},
    "GET api/v1/projector/about": VECTORS,
    "GET api/v1/projector/column": {**VECTORS, "name": "label"},
    "GET api/v1/projector/sprite": VECTORS,
    "GET api/v1/projector/picture": VECTORS,
    "GET api/v1/projector/point": VECTORS,
    "POST api/v1/projector/project": {**VECTORS, "method": {"type": "pca"}},
    "DELETE api/v1/projector/project": JOB,
    "GET api/v1/projector/layout": JOB,
    "GET api/v1/projector/quality": JOB,
    "GET api/v1/projector/density": JOB,
    "GET api/v1/projector/tile": {**JOB, "zoom": 1, "x": 0, "y": 1},
    "GET api/v1/projector/nearest": {**JOB, "x": 0, "y": 0, "radius": 100},
    "POST api/v1/projector/inside": {**JOB, "outline": [-9, -9, 9, -9, 0, 9]},
    "POST api/v1/projector/positions": {**JOB, "rows": "AQ=="},
    "GET api/v1/projector/regions": JOB,
    "POST api/v1/projector/similar": {**VECTORS, "source": VECTORS, "text": "cat"},
    "POST api/v1/projector/neighbors": {**VECTORS, "row": 1},
    "POST api/v1/projector/search": {**VECTORS, "query": "cat"},
    "POST api/v1/projector/rows": {**VECTORS, "columns": ["label"], "sort": "label"},
    "POST api/v1/projector/histograms": {
        **VECTORS,
        "values": ["label"],
        "filters": {"label": {"values": ["cat"]}},
    },
    "POST api/v1/projector/match": {**VECTORS, "other": VECTORS},
    "POST api/v1/projector/cluster": {**VECTORS, "method": {"type": "kmeans", "count": 2}},
    "GET api/v1/projector/clusters": JOB,
    "POST api/v1/projector/edit": {**VECTORS, "rows": "AQ==", "column": "label", "text": "cat"},
    "GET api/v1/projector/bookmarks": VECTORS,
    "POST api/v1/projector/bookmark": {**VECTORS, "name": "top", "state": "{}"},
    "GET api/v1/projector/file": {**VECTORS, "content": "labels"},
    "POST api/v1/projector/upload": {"name": "v.tsv"},
    "GET api/v1/debugger/sources": {},
    "GET api/v1/debugger/overview": RECORDING,
    "POST api/v1/debugger/alerts": RECORDING,
    "POST api/v1/debugger/heatmap": RECORDING,
    "GET api/v1/debugger/tensor": {**RECORDING, "tensor": 1},
    "GET api/v1/debugger/value": {**RECORDING, "name": "log"},
    "POST api/v1/debugger/compare": {"first": "numbers", "second": "numbers"},
    "POST api/v1/debugger/compare_dumps": {"first": DUMP["source"], "second": DUMP["source"]},
    "GET api/v1/debugger/export": RECORDING,
    "POST api/v1/debugger/executions": DUMP,
    "POST api/v1/debugger/graph_executions": DUMP,
    "POST api/v1/debugger/timeline": DUMP,
    "GET api/v1/debugger/event": {**DUMP, "kind": "graph_execution", "index": 1},
    "GET api/v1/debugger/histogram": {**DUMP, "graph": "", "op_name": "Log", "last": 99},
    "GET api/v1/debugger/op": {**DUMP, "graph": "", "op_name": ""},
    "GET api/v1/debugger/source_file": {**DUMP, "path": "program.py"},
    "GET api/v1/profile/captures": {},
    "GET api/v1/profile/opening": CAPTURE,
    "GET api/v1/profile/tools": CAPTURE,
    "GET api/v1/profile/hosts": CAPTURE,
    "GET api/v1/profile/file": CAPTURE,
    "GET api/v1/profile/overview": CAPTURE,
    "GET api/v1/profile/steps": CAPTURE,
    "GET api/v1/profile/input": CAPTURE,
    "GET api/v1/profile/compare": {**CAPTURE, "baseline": CAPTURE["capture"]},
    "GET api/v1/profile/compare/same-program": {**CAPTURE, "baseline": CAPTURE["capture"]},
    "POST api/v1/profile/upload": {"name": "trace.json.gz"},
    "GET api/v1/profile/operators": CAPTURE,
    "GET api/v1/profile/calls": CAPTURE,
    "GET api/v1/profile/ops": CAPTURE,
    "GET api/v1/profile/kernels": CAPTURE,
    "GET api/v1/profile/memory": CAPTURE,
    "GET api/v1/profile/communication": CAPTURE,
    "GET api/v1/profile/communication/ranks": CAPTURE,
    "GET api/v1/profile/heap": CAPTURE,
    "GET api/v1/profile/memory/snapshot": CAPTURE,
    "GET api/v1/profile/memory/buffers": CAPTURE,
    "GET api/v1/profile/program": CAPTURE,
    "GET api/v1/profile/program/text": CAPTURE,
    "GET api/v1/profile/roofline": CAPTURE,
    "POST api/v1/profile/query": {**CAPTURE, "sql": "SELECT count(*) FROM events"},
    "GET api/v1/profile/query/tables": CAPTURE,
    "GET api/v1/profile/query/saved": {},
    "POST api/v1/profile/query/save": {"name": "kernels", "sql": "FROM kernels"},
    "POST api/v1/profile/timeline": CAPTURE,
    "POST api/v1/profile/timeline/tiles": {**CAPTURE, "level": 30, "tracks": [0]},
    "POST api/v1/profile/timeline/event": {**CAPTURE, "event": 1},
    "POST api/v1/profile/timeline/search": {**CAPTURE, "query": "conv"},
    "POST api/v1/profile/timeline/selection": {**CAPTURE, "end": 1e12, "tracks": [0]},
    "POST api/v1/profile/timeline/events": {
        **CAPTURE,
        "events": [1],
        "boxes": [{"start": 0, "end": 1e12, "track": 0, "first_lane": 0, "last_lane": 9}],
    },
    "POST api/v1/profile/timeline/counters": {**CAPTURE, "end": 1e12},
    "POST api/v1/profile/timeline/flows": {**CAPTURE, "end": 1e12, "tracks": [0]},
    "GET api/v1/profile/timeline/notes": CAPTURE,
    "POST api/v1/profile/timeline/add-note": {**CAPTURE, "time_ps": 5e9, "text": "slow"},
    "POST api/v1/profile/timeline/delete-note": {**CAPTURE, "id": "none"},
    "POST api/v1/fairness/evaluations": {},
    "GET api/v1/fairness/evaluations": {},
    "POST api/v1/fairness/result": EVALUATION,
    "GET api/v1/fairness/result": EVALUATION,
    "POST api/v1/fairness/difference": {**EVALUATION, "baseline": "group:a"},
    "POST api/v1/fairness/plots": {**EVALUATION, "slices": [0, 1]},
    "POST api/v1/fairness/history": {
        **{"run": "conv", "tag": "fairness", "metric": "auc"},
        "slices": ["group:a"],
    },
    "GET api/v1/fairness/datapoints": {**EVALUATION, "slice": "group:a"},
    "GET api/v1/fairness/export": {**EVALUATION, "format": "markdown"},
    "GET api/v1/hparams/sessions": {"reduction": "min", "aggregation": "mean"},
    "POST api/v1/hparams/trials": {
        "filters": [{"key": "hparam:lr", "range": [0, 1], "blank": True}],
        "runs": {"filter": "conv"},
        "sort": ["-metric:|loss"],
        "sample": 10,
    },
    "POST api/v1/hparams/facets": {"columns": [{"key": "hparam:lr", "scale": "log"}]},
    "GET api/v1/hparams/importance": {"metric": "|loss"},
    "POST api/v1/hparams/importance": {"metric": "|loss", "sessions": ["conv"]},
    "GET api/v1/hparams/sparklines": {"metric": "|loss"},
    "POST api/v1/hparams/sparklines": {"metric": "|loss", "sessions": ["conv"]},
    "GET api/v1/hparams/export": {"format": "csv"},
    "POST api/v1/hparams/export": {"format": "latex", "columns": ["name", "metric:|loss"]},
    "GET api/v1/what_if/files": {},
    "GET api/v1/what_if/sessions": {},
    "GET api/v1/what_if/read_ahead": {"path": "people.csv"},
    "POST api/v1/what_if/open": {"path": "people.csv", "label": "label"},
    "GET api/v1/what_if/about": PEOPLE,
    "POST api/v1/what_if/close": {"session": "spare"},
    "POST api/v1/what_if/configure": {**PEOPLE, "label": "label"},
    "POST api/v1/what_if/models": {
        **PEOPLE,
        "spec": {"type": "columns", "name": "more", "columns": ["p"]},
    },
    "DELETE api/v1/what_if/models": {**PEOPLE, "model": "more"},
    "POST api/v1/what_if/columns": {**PEOPLE, "names": ["age"]},
    "GET api/v1/what_if/row": PEOPLE,
    "GET api/v1/what_if/image": {**PEOPLE, "feature": "face"},
    "POST api/v1/what_if/saliency": {**PEOPLE, "feature": "face"},
    "GET api/v1/what_if/thumbnails": {**PEOPLE, "feature": "face"},
    "GET api/v1/what_if/thumbnail_tile": {**PEOPLE, "feature": "face", "tile": 0},
    "POST api/v1/what_if/edit": {**PEOPLE, "values": {"age": 33}},
    "POST api/v1/what_if/feature": {**PEOPLE, "name": "note", "type": "string", "value": "odd"},
    "POST api/v1/what_if/slice": {**PEOPLE, "name": "first", "rows": [0]},
    "DELETE api/v1/what_if/slice": {**PEOPLE, "name": "first"},
    "POST api/v1/what_if/distances": PEOPLE,
    "POST api/v1/what_if/counterfactuals": PEOPLE,
    "POST api/v1/what_if/predict": PEOPLE,
    "POST api/v1/what_if/dependence": PEOPLE,
    "POST api/v1/what_if/importance": PEOPLE,
    "POST api/v1/what_if/shapley": {**PEOPLE, "rows": [0]},
    "GET api/v1/what_if/job": WHAT_IF_JOB,
    "DELETE api/v1/what_if/job": WHAT_IF_JOB,
    "POST api/v1/what_if/performance": PEOPLE,
    "POST api/v1/what_if/comparison": {**PEOPLE, "model": "people", "other": "people"},
    "POST api/v1/what_if/optimize": PEOPLE,
    "POST api/v1/what_if/frontier": {**PEOPLE, "slice_by": ["age"]},
    "POST api/v1/what_if/statistics": PEOPLE,
    "GET api/v1/what_if/export": PEOPLE,
}


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    write_log(tmp_path / "logs")
    with open_client(logs.open_catalog(tmp_path / "logs"), tmp_path) as client:
        yield client


def write_log(folder: Path) -> None:
    """Write a log with something for every request."""
    values = logs.picture(1, encode_png(np.zeros((2, 2), np.uint8)))
    values += logs.clip(1, encode_wav(np.ones(9), 8000))
    values += logs.histogram(1, [(0.0, 1.0, 5.0)])
    values += logs.text(1, "a cat")
    values += logs.cloud(1, [[0, 0, 0], [1, 2, 3]])
    values += _make_graph()
    values += logs.pr_curve(1, [[1, 0], [1, 0], [0, 1], [0, 1], [0.5, 0], [1, 0]])
    values += logs.hparams({"lr": 0.1})
    values += _make_evaluation()
    logs.write(folder, "conv", logs.points(range(3)) + values)
    capture = folder / "conv/plugins/profile/now/vm.xplane.pb"
    capture.parent.mkdir(parents=True)
    capture.write_bytes(read_bytes("jit_steps"))
    _write_vectors(folder / "conv")
    write_recording(folder / "numbers", seed=0, now=1e9, diverges_at=9)
    dumps = folder.with_name("dumps")
    extract(DUMPS, dumps)
    (dumps / "full_tensor").rename(folder / "full_tensor")
    (folder / "people.csv").write_text("age,label\n20,0\n40,1\n")


@contextmanager
def open_client(catalog: Catalog, page_dir: Path) -> Iterator[TestClient]:
    """Serve the log of `write_log`, and close it."""
    with Watcher(catalog.roots) as watch:
        access = DataAccess(workspaces={"people": _make_people(), "spare": _make_people()})
        policy = create_policy("localhost")
        app = create_app(catalog, watch, policy, page_dir=page_dir, access=access)
        with TestClient(app, base_url="http://localhost") as client:
            wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
            yield client
    catalog.close()


def _make_people() -> Workspace:
    columns = {"age": [20, 30, 40, 50], "p": [0.1, 0.4, 0.6, 0.9], "label": [0, 1, 0, 1]}
    faces = make_column("face", [encode_png(np.zeros((2, 2), np.uint8))] * 4)
    table = to_table(columns).with_columns([faces])

    def predict(columns: Any) -> Any:
        pixels = np.zeros((len(columns["age"]), 2, 2))
        return {"predictions": columns["age"] / 100, "attributions": {"face": pixels}}

    model = wrap_model(predict, "people", features=["age"])
    return Workspace(table, [model], label="label", features=["age"])


def _make_graph() -> bytes:
    """Return the graph of a run: an operation and a constant."""
    value = proto.AttrValue(tensor=encode_tensor(np.arange(3.0)))
    constant = proto.NodeDef(name=b"c", op=b"Const", attr=[proto.Attr(key=b"value", value=value)])
    graph = proto.GraphDef(node=[proto.NodeDef(name=b"x", op=b"Op"), constant])
    event = proto.Event(wall_time=1.7e9, graph_def=graph.SerializeToString())
    return encode_record(event.SerializeToString())


def _make_evaluation() -> bytes:
    data = {"label": [0, 1] * 50, "score": [0.3, 0.6] * 50, "group": ["a", "a", "b", "b"] * 25}
    result = evaluate(data, label="label", prediction="score", slices=["group"])
    parts = np.array(encode_evaluation(result.stored), object)
    value = summary.tensor("fairness", parts, summary.make_metadata(PLUGIN_NAME))
    return encode_record(encode_event(1.7e9, 1, [value]))


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


def test_documentation_is_up_to_date(text: str) -> None:
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
        start = f"| `{route.method} api/v1/{route.path}` | "
        (row,) = (line for line in text.splitlines() if line.startswith(start))
        assert route.handler.__doc__ is not None
        first_words = route.handler.__doc__.replace("``", "`").split()[:4]
        assert " ".join(first_words) in row
        for struct in collect_structs([route]):
            if struct is route.request_type:
                assert f"[{name_struct(struct)}](#" in row


def test_every_field_of_every_struct_is_listed_once(text: str) -> None:
    """In the section of the struct itself, or of the struct that it extends."""
    sections = _read_sections(text)
    structs = collect_structs(collect_routes())
    assert len(structs) > 200
    for struct in structs:
        section = sections[name_struct(struct)]
        fields = _list_fields(section)
        while base := re.search(r"Has all\s+fields\s+of\s+\[(.*?)\]", section):
            section = sections[base[1]]
            fields += _list_fields(section)
        config = struct.__struct_config__
        tag = [config.tag_field] if config.tag is not None else []
        expected = [field.encode_name for field in msgspec.structs.fields(struct)]
        assert sorted(fields) == sorted(tag + expected), name_struct(struct)


def test_fields_have_types_defaults_and_descriptions(text: str) -> None:
    sections = {name: " ".join(section.split()) for name, section in _read_sections(text).items()}
    assert "; `part`: integer (from 0) = `0`" in sections["BlobRequest"]
    assert '- `type`: `"pca"`' in sections["projector.PcaMethod"]
    assert "- `line`: integer. Counted from 1." in sections["text.TextHit"]
    assert "- `run`, `tag`: string; `start`: integer" in sections["BlobListRequest"]


def test_descriptions_of_fields_are_complete(text: str) -> None:
    sections = _read_sections(text)
    for struct in collect_structs(collect_routes()):
        inherited = set().union(*(read_field_docs(base) for base in struct.__mro__[1:-1]))
        for field, doc in read_field_docs(struct).items():
            if field not in inherited:
                assert doc in " ".join(sections[name_struct(struct)].split()), (struct, field)


def test_line_breaks_do_not_change_the_text(text: str) -> None:
    """A line that begins like a list or a heading would be one."""
    tokens = MarkdownIt().parse(text)
    headings = [token.map[0] for token in tokens if token.type == "heading_open" and token.map]
    lines = text.splitlines()
    assert [number for number, line in enumerate(lines) if line.startswith("#")] == headings
    assert not [token for token in tokens if token.type == "ordered_list_open"]
    assert not [token for token in tokens if token.type.endswith("list_open") and token.level]


def _list_fields(section: str) -> list[str]:
    """Return the names in the list of a section: those before a colon, except in brackets."""
    fields = []
    for item in re.findall(r"^- (.*(?:\n  .*)*)", section, re.M):
        for part in re.split(r"; (?=`)", " ".join(item.split())):
            names = re.match(r"`\w+`(?:, `\w+`)*(?=: )", part)
            fields += re.findall(r"`(\w+)`", names[0]) if names else []
    return fields


def _read_sections(text: str) -> dict[str, str]:
    """Return the text below each heading."""
    parts = re.split(r"^#{2,3} (.*)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_struct_names_are_unique(text: str) -> None:
    headings = re.findall(r"^### (.*)", text, re.MULTILINE)
    assert len(headings) == len(set(headings))


def test_all_links_have_targets(text: str) -> None:
    anchors = {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)", text, re.MULTILINE)
    }
    assert set(re.findall(r"\]\(#(.*?)\)", text)) <= anchors


def test_all_documented_routes_work(client: TestClient) -> None:
    for name, response in iter_responses(client):
        assert response.status_code == 200, (name, response.text)


def iter_responses(client: TestClient) -> Iterator[tuple[str, Any]]:
    """Send every request, in the order of the documentation."""
    documented = re.findall(r"^\| `((?:GET|POST|PUT|PATCH|DELETE) .*?)` ", TARGET.read_text(), re.M)
    assert set(documented) == set(REQUESTS)
    known: dict[str, str] = {}
    for name in documented:
        method, path = name.split()
        in_query = method in ("GET", "DELETE") or name in FILES
        request = REQUESTS[name]
        if "job" in request:
            request = {**request, "job": known["job"]}
        if name == "GET api/v1/graphs/overlay":
            request = {**GRAPH, "overlay": known["overlay"]}
        if name == "GET api/v1/debugger/op":
            request = {**DUMP, "graph": known["graph"], "op_name": known["op"]}
        options = {"params" if in_query else "json": request, "content": FILES.get(name)}
        response = client.request(method, "/" + path.format(**known), **options)
        yield name, response
        if name == "GET api/v1/blobs":
            known["fingerprint"] = response.json()["fingerprint"][0]
        if name == "POST api/v1/graphs/upload_overlay":
            known["overlay"] = f"{response.json()['id']}:latency"
        if name == "POST api/v1/projector/project":
            known["job"] = response.json()["job"]
            layout = f"/api/v1/projector/layout?job={known['job']}"
            wait_until(lambda layout=layout: client.get(layout).json()["coordinates"])
        if name == "GET api/v1/debugger/event":
            known["graph"], known["op"] = response.json()["graphs"][-1], response.json()["op_name"]
        if name == "POST api/v1/what_if/predict":
            known["job"] = response.json()["job"]
        if name == "POST api/v1/notes/annotations":
            known["id"] = response.json()["annotations"][0]["id"]
