"""The HParams dashboard on a small grid: table, importance, sparklines, files and static export."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from tests.analysis.experiments.helpers import open_board
from tests.index import logs
from tests.server.columns_decoder import read_columns
from tests.server.waiting import wait_until
from tracklight.cli.demo.sweep import write_grid
from tracklight.dashboards.hparams import HParams
from tracklight.dashboards.hparams.schemas import (
    ExportRequest,
    ImportanceRequest,
    SessionsRequest,
    SparklinesRequest,
)
from tracklight.errors import UsageError
from tracklight.formats import hparams
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record
from tracklight.logdir.watch import Watcher
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.server.responses import COLUMNS_MEDIA_TYPE

ACCURACY = "validation|accuracy"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grid")
    write_grid(folder / "grid", seed=0, now=1.8e9)
    return folder


@pytest.fixture(scope="module")
def board(logdir: Path) -> HParams:
    return open_board(logdir)[1]


def test_table_has_all_sessions_and_metrics(board: HParams) -> None:
    response = board.sessions(SessionsRequest())
    assert len(response.rows.names) == 36
    accuracy = next(metric for metric in response.metrics if metric.key == ACCURACY)
    best = int(np.nanargmax(accuracy.values))
    assert response.rows.labels[best] == "units=128,dropout=0.1,lr=0.1"
    assert sorted(set(response.rows.status.tolist())) == [1, 2]
    assert [study.name for study in response.studies] == ["grid"]
    assert (response.rows.end > response.rows.start).all()


def test_importance_is_summarized(board: HParams) -> None:
    response = board.importance(ImportanceRequest(metric=ACCURACY))
    assert [bar.name for bar in response.bars] == ["learning_rate", "dropout", "units"]
    assert [bar.direction for bar in response.bars] == [1, -1, 1]
    assert response.trust.level == "good"
    start = "In 35 trials, Accuracy depends most clearly on Learning rate ("
    assert response.summary.text.startswith(start)
    assert response.summary.code == "hparams.depends_on"
    assert response.trust.summary.code == "hparams.trust_good"
    assert [bar.label for bar in response.bars] == ["Learning rate", "Dropout", "Units"]
    assert response.problem is None


def test_importance_of_selected_sessions(board: HParams) -> None:
    names = [name for name in board.sessions(SessionsRequest()).rows.names if "lr=0.1" in name]
    response = board.importance(ImportanceRequest(metric=ACCURACY, sessions=[*names, "gone"]))
    assert {bar.name for bar in response.bars} == {"dropout", "units"}
    assert response.trust.sessions == 11  # one failed
    few = board.importance(ImportanceRequest(metric=ACCURACY, sessions=names[:3]))
    assert (few.trust.level, few.bars) == ("none", [])
    assert few.problem is not None
    assert few.problem.message == (
        "Only 2 completed trials have this metric; at least 8 are needed."
    )


def test_sparklines_are_downsampled(board: HParams) -> None:
    names = board.sessions(SessionsRequest()).rows.names
    request = SparklinesRequest(ACCURACY, ["gone", names[0]], points=6)
    (line,) = board.sparklines(request).lines
    assert (line.session, line.nonfinite_count) == (names[0], 0)
    assert (line.x[0], line.x[-1]) == (0.0, 19.0)
    assert len(line.x) <= 8
    assert len(board.sparklines(SparklinesRequest(ACCURACY)).lines) == 36
    diverged = [
        it for it in board.sparklines(SparklinesRequest(ACCURACY)).lines if it.nonfinite_count
    ]
    assert [it.session for it in diverged] == ["grid/units=16,dropout=0.5,lr=0.1"]
    assert board.sparklines(SparklinesRequest("|gone")).lines == []


def test_table_can_be_exported(board: HParams) -> None:
    names = board.sessions(SessionsRequest()).rows.names[:2]
    columns = ["name", "status", "start", "duration", "hparam:units", f"metric:{ACCURACY}"]
    request = ExportRequest(format="json", columns=columns, sessions=names[::-1], reduction="max")
    found = json.loads(board.export(request).content)
    assert found["header"] == ["name", "status", "start", "duration", "Units", "Accuracy"]
    assert [row[0] for row in found["rows"]] == names[::-1]
    assert found["rows"][0][1] == "success"
    assert found["rows"][0][2].startswith("2027-01-")
    assert found["rows"][0][4] == 16.0
    complete = json.loads(board.export(ExportRequest(format="json")).content)
    assert len(complete["rows"]) == 36
    assert complete["header"][:6] == ["name", "group", "status", "start", "end", "Dropout"]
    for key in ("color", "hparam:gone", "metric:|gone"):
        with pytest.raises(UsageError):
            board.export(ExportRequest(format="csv", columns=[key]))


def test_static_export_has_the_responses_of_the_page(board: HParams) -> None:
    parts = dict(board.export_static([]))
    assert [*parts][:3] == [
        "sessions?reduction=last",
        "sessions?reduction=min",
        "sessions?reduction=max",
    ]
    quoted = "validation%7Caccuracy"
    assert f"importance?metric={quoted}&reduction=last" in parts
    assert len(parts[f"sparklines?metric={quoted}"].lines) == 36  # type: ignore[attr-defined]


def test_static_export_without_sessions_is_empty(tmp_path: Path) -> None:
    logs.write(tmp_path, "a", logs.point(0, 1.0))
    assert [*open_board(tmp_path)[1].export_static([])] == []


@pytest.fixture
def client(logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    catalog = logs.open_catalog(logdir)
    with Watcher(catalog.roots) as watch:
        app = create_app(catalog, watch, create_policy("localhost"), page_dir=tmp_path)
        with TestClient(app, base_url="http://localhost") as client:
            wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
            yield client
    catalog.close()


def test_routes(client: TestClient) -> None:
    columns = client.get(
        "/api/v1/hparams/sessions?reduction=last", headers={"Accept": COLUMNS_MEDIA_TYPE}
    )
    response = read_columns(columns.content)
    assert len(response["metrics"][0]["values"]) == 36
    revision = response["revision"]
    update = client.get(
        "/api/v1/hparams/sessions", params={"reduction": "last", "since": revision}
    ).json()
    assert (update["since"], update["rows"]["indices"]) == (revision, [])
    for query in ("reduction=best", "count=0", "aggregation=sum", "step=x"):
        assert client.get(f"/api/v1/hparams/sessions?{query}").status_code == 400
    huge = revision.rpartition(".")[0] + "." + "9" * 5000
    assert client.get(f"/api/v1/hparams/sessions?since={huge}").json()["since"] is None
    unknown = client.post("/api/v1/hparams/importance", json={"metric": "|gone"})
    assert unknown.status_code == 400
    assert "No session has the metric" in unknown.json()["error"]["message"]
    file = client.post("/api/v1/hparams/export", json={"format": "markdown"})
    assert file.headers["content-type"].startswith("text/markdown")
    assert file.text.count("\n") == 38


def test_runs_api_has_the_hyperparameters(client: TestClient) -> None:
    columns = client.get("/api/v1/runs/columns").json()["hparams"]
    assert {column["name"] for column in columns} == {"units", "dropout", "learning_rate"}
    request = {"columns": ["hparam:learning_rate"]}
    found = client.post("/api/v1/runs/columns", json=request).json()
    rates = dict(zip(found["runs"], found["columns"]["hparam:learning_rate"], strict=True))
    assert rates["grid/units=16,dropout=0.1,lr=0.01/validation"] == 0.01


def test_hostile_records_are_shown_and_exported(tmp_path: Path) -> None:
    hostile = {"": 1.0, "a\x00b": "\x1b[31m", "x" * 5000: "y" * 100_000, "__proto__": True}
    logs.write(tmp_path, "hostile", logs.hparams(hostile) + logs.point(1, 1.0, tag="</script>|\n"))
    logs.write(tmp_path, "many", logs.hparams({f"k{n}": float(n) for n in range(1500)}))
    board = open_board(tmp_path)[1]
    response = board.sessions(SessionsRequest())
    assert len(response.hparams) == 1000
    (note,) = response.notes
    assert (note.code, note.args) == ("hparams.hidden_hparams", {"max_hparams": 1000})
    assert note.text == "Showing the first 1,000 hyperparameters."
    assert response.metrics[0].key == "|</script>|\n"
    for kind in ("csv", "json", "latex", "markdown"):
        board.export(ExportRequest(format=kind))


def test_display_names_are_used_in_sentences_and_files(tmp_path: Path) -> None:
    """Two metrics with the same display name are told apart by their group, as in the page."""
    lr = hparams.HParam("lr", display_name="Learning rate")
    loss = [hparams.Metric("loss", group, display_name="Loss") for group in ("train", "test")]
    declared = hparams.build_experiment([lr], loss)
    logs.write(tmp_path, ".", encode_record(encode_event(1.0, 0, [declared])))
    for number in range(20):
        start = hparams.build_session_start({"lr": float(number)})
        logs.write(tmp_path, f"{number}", encode_record(encode_event(1.0, 0, [start])))
        for group in ("train", "test"):
            logs.write(tmp_path, f"{number}/{group}", logs.point(0, number / 7, tag="loss"))
    board = open_board(tmp_path)[1]
    importance = board.importance(ImportanceRequest(metric="test|loss"))
    assert importance.bars[0].label == "Learning rate"
    assert importance.summary.text.startswith(
        "In 20 trials, Loss depends most clearly on Learning rate"
    )
    for file_format in ("csv", "json", "latex", "markdown"):
        content = board.export(ExportRequest(format=file_format)).content.decode()  # type: ignore[arg-type]
        for heading in ("Learning rate", "train/Loss", "test/Loss"):
            assert heading in content
