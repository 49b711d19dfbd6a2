"""The HParams dashboard over a small grid: its tables, files, reasons, sketches and copies."""

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
from tracklight.cli.demo.grid import write_grid
from tracklight.dashboards.hparams import HParams
from tracklight.dashboards.hparams.schemas import (
    ExportRequest,
    ImportanceRequest,
    SessionsRequest,
    SparklinesRequest,
)
from tracklight.errors import UsageError
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


def test_the_best_of_the_grid_is_seen(board: HParams) -> None:
    answer = board.sessions(SessionsRequest())
    assert len(answer.rows.names) == 36
    accuracy = next(it for it in answer.metrics if it.key == ACCURACY)
    best = int(np.nanargmax(accuracy.values))
    assert answer.rows.labels[best] == "units=128,dropout=0.1,lr=0.1"
    assert sorted(set(answer.rows.status.tolist())) == [1, 2]
    assert answer.rows.experiment_names == ["grid"]
    assert (answer.rows.end > answer.rows.start).all()


def test_what_made_the_difference_is_said_in_a_sentence(board: HParams) -> None:
    answer = board.importance(ImportanceRequest(metric=ACCURACY))
    assert [bar.name for bar in answer.bars] == ["learning_rate", "dropout", "units"]
    assert [bar.direction for bar in answer.bars] == [1, -1, 1]
    assert answer.trust.level == "good"
    assert answer.sentence.startswith("Accuracy depends mostly on Learning rate (")
    told = "high Learning rate (0.01 to 0.1), low Dropout (0.1) and high Units (64 to 128)."
    assert answer.sentence.endswith(f"It is best with {told}")
    assert [bar.label for bar in answer.bars] == ["Learning rate", "Dropout", "Units"]
    assert answer.problem is None


def test_some_sessions_can_be_asked_about(board: HParams) -> None:
    names = [name for name in board.sessions(SessionsRequest()).rows.names if "lr=0.1" in name]
    answer = board.importance(ImportanceRequest(metric=ACCURACY, sessions=[*names, "gone"]))
    assert {bar.name for bar in answer.bars} == {"dropout", "units"}
    assert answer.trust.sessions == 12
    few = board.importance(ImportanceRequest(metric=ACCURACY, sessions=names[:3]))
    assert (few.trust.level, few.bars) == ("none", [])
    assert few.problem is not None and few.problem.message == "Only 3 sessions have this metric."


def test_curves_are_sketched(board: HParams) -> None:
    names = board.sessions(SessionsRequest()).rows.names
    ask = SparklinesRequest(ACCURACY, ["gone", names[0]], points=6)
    (line,) = board.sparklines(ask).lines
    assert (line.session, line.odd) == (names[0], 0)
    assert (line.x[0], line.x[-1]) == (0.0, 19.0)
    assert len(line.x) <= 8
    assert len(board.sparklines(SparklinesRequest(ACCURACY)).lines) == 36
    diverged = [it for it in board.sparklines(SparklinesRequest(ACCURACY)).lines if it.odd]
    assert [it.session for it in diverged] == ["grid/units=16,dropout=0.5,lr=0.1"]
    assert board.sparklines(SparklinesRequest("|gone")).lines == []


def test_everything_shown_can_be_taken_away(board: HParams) -> None:
    names = board.sessions(SessionsRequest()).rows.names[:2]
    columns = ["name", "status", "start", "duration", "hparam:units", f"metric:{ACCURACY}"]
    ask = ExportRequest(format="json", columns=columns, sessions=names[::-1], how="max")
    found = json.loads(board.export(ask).content)
    assert found["header"] == ["name", "status", "start", "duration", "Units", "Accuracy"]
    assert [row[0] for row in found["rows"]] == names[::-1]
    assert found["rows"][0][1] == "success"
    assert found["rows"][0][2].startswith("2027-01-")
    assert found["rows"][0][4] == 16.0
    whole = json.loads(board.export(ExportRequest(format="json")).content)
    assert len(whole["rows"]) == 36
    assert whole["header"][:6] == ["name", "group", "status", "start", "end", "Dropout"]
    for key in ("colour", "hparam:gone", "metric:|gone"):
        with pytest.raises(UsageError):
            board.export(ExportRequest(format="csv", columns=[key]))


def test_a_copy_answers_what_a_page_asks(board: HParams) -> None:
    parts = dict(board.export_static([]))
    assert [*parts][:3] == ["sessions?how=last", "sessions?how=min", "sessions?how=max"]
    quoted = "validation%7Caccuracy"
    assert f"importance?metric={quoted}&how=last" in parts
    assert len(parts[f"sparklines?metric={quoted}"].lines) == 36  # type: ignore[attr-defined]


def test_a_copy_of_nothing_is_empty(tmp_path: Path) -> None:
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


def test_over_http(client: TestClient) -> None:
    columns = client.get("/api/v1/hparams/sessions?how=last", headers={"Accept": COLUMNS_MEDIA_TYPE})
    answer = read_columns(columns.content)
    assert len(answer["metrics"][0]["values"]) == 36
    revision = answer["revision"]
    news = client.get("/api/v1/hparams/sessions", params={"how": "last", "since": revision}).json()
    assert (news["base"], news["rows"]["at"]) == (revision, [])
    for query in ("how=best", "n=0", "over=sum", "step=x"):
        assert client.get(f"/api/v1/hparams/sessions?{query}").status_code == 400
    far = revision.rpartition(".")[0] + "." + "9" * 5000
    assert client.get(f"/api/v1/hparams/sessions?since={far}").json()["base"] is None
    wrong = client.post("/api/v1/hparams/importance", json={"metric": "|gone"})
    assert wrong.status_code == 400
    assert "No session has the metric" in wrong.json()["error"]["message"]
    file = client.post("/api/v1/hparams/export", json={"format": "markdown"})
    assert file.headers["content-type"].startswith("text/markdown")
    assert file.text.count("\n") == 38


def test_runs_of_every_dashboard_have_these_hyperparameters(client: TestClient) -> None:
    there = client.get("/api/v1/runs/columns").json()["hparams"]
    assert {column["name"] for column in there} == {"units", "dropout", "learning_rate"}
    ask = {"columns": ["hparam:learning_rate"]}
    found = client.post("/api/v1/runs/columns", json=ask).json()
    rates = dict(zip(found["runs"], found["columns"]["hparam:learning_rate"], strict=True))
    assert rates["grid/units=16,dropout=0.1,lr=0.01/validation"] == 0.01


def test_hostile_records_are_rows_like_others(tmp_path: Path) -> None:
    odd = {"": 1.0, "a\x00b": "\x1b[31m", "x" * 5000: "y" * 100_000, "__proto__": True}
    logs.write(tmp_path, "odd", logs.hparams(odd) + logs.point(1, 1.0, tag="</script>|\n"))
    logs.write(tmp_path, "many", logs.hparams({f"k{n}": float(n) for n in range(1500)}))
    board = open_board(tmp_path)[1]
    answer = board.sessions(SessionsRequest())
    assert len(answer.hparams) == 1000
    assert answer.notes == ["Only the first 1,000 hyperparameters are shown."]
    assert answer.metrics[0].key == "|</script>|\n"
    for kind in ("csv", "json", "latex", "markdown"):
        board.export(ExportRequest(format=kind))
