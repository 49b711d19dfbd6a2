"""The routes of the What-If dashboard, through HTTP."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.dashboards.what_if.board import Board, create_dashboard, start_board, wait_for_job
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.source import DataAccess
from tracklight.analysis.tables.columns import make_column
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.workspace import Workspace


def make_workspace(rows: int = 40) -> Workspace:
    random = np.random.default_rng(0)
    age = random.integers(18, 80, rows)
    table = to_table(
        {
            "age": age,
            "job": random.choice(["cook", "clerk"], rows),
            "label": (age > 45).astype(int),
        }
    )
    model = wrap_model(lambda c: np.clip((c["age"] - 18) / 62, 0, 1), "linear")
    return Workspace(table, [model], label="label")


@pytest.fixture
def board(tmp_path: Path) -> Iterator[Board]:
    (tmp_path / "logs").mkdir()
    data = tmp_path / "data"
    data.mkdir()
    (data / "people.csv").write_text(
        "age,job,score,label\n" + "".join(f"{a},{j},{s},{y}\n" for a, j, s, y in ROWS)
    )
    (tmp_path / "secret.csv").write_text("password\nhunter2\n")
    access = DataAccess(data_dirs=(str(data),), workspaces={"demo": make_workspace()})
    with start_board(tmp_path / "logs", access) as started:
        yield started


ROWS = [(20, "cook", 0.1, 0), (30, "cook", 0.4, 1), (40, "clerk", 0.6, 0), (50, "clerk", 0.9, 1)]


def open_people(board: Board) -> str:
    session: str = board.post("open", path="people.csv", label="label")["session"]
    board.post("models", session=session,
               spec={"type": "columns", "name": "p", "columns": ["score"]})  # fmt: skip
    wait_for_job(board, board.post("predict", session=session))
    return session


def test_tab_is_active_with_a_data_directory_only(board: Board, tmp_path: Path) -> None:
    assert "what_if" in board.list_active()
    with start_board(tmp_path / "logs", DataAccess()) as other:
        assert "what_if" not in other.list_active()


def test_files_are_listed_and_opened(board: Board) -> None:
    files = board.get("files")
    assert [file["name"] for file in files["data"]] == ["people.csv"]
    assert not files["allow_model_execution"]
    info = board.post("open", path="*.csv", label="label")
    assert info["row_count"] == 4 and info["title"] == "*.csv"
    columns = {column["name"]: column for column in info["columns"]}
    assert columns["age"]["minimum"] == 20 and columns["job"]["distinct"] == 2
    assert not columns["label"]["is_input"] and columns["age"]["is_input"]
    listed = board.get("sessions")["sessions"]
    assert [session["title"] for session in listed] == ["demo", "*.csv"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../secret.csv", "outside the log directory"),
        ("/etc/passwd", "outside the log directory"),
        ("none.csv", 'No file "none.csv" below the log directory or --data-dir'),
        ("*.tfrecord", 'No file "*.tfrecord" below'),
        ("../*.csv", "outside the log directory"),
        ("a\0b.csv", "null character"),
    ],
)
def test_paths_outside_are_refused(board: Board, path: str, message: str) -> None:
    assert message in board.fail("open", path=path)


def test_links_out_of_the_directory_are_refused(board: Board, tmp_path: Path) -> None:
    (tmp_path / "data" / "link.csv").symlink_to(tmp_path / "secret.csv")
    assert "outside the log directory" in board.fail("open", path="link.csv")


def test_columns_with_predictions(board: Board) -> None:
    session = open_people(board)
    response = board.post("columns", session=session, names=["age", "job", "predicted", "correct"])
    age, job, predicted, correct = response["columns"]
    assert age["numbers"] == [20, 30, 40, 50]
    assert [job["categories"][code] for code in job["codes"]] == ["cook", "cook", "clerk", "clerk"]
    assert [predicted["categories"][code] for code in predicted["codes"]] == ["0", "0", "1", "1"]
    assert [correct["categories"][c] for c in correct["codes"]] == [
        "correct", "incorrect", "incorrect", "correct"]  # fmt: skip
    assert 'did you mean "age"' in board.fail("columns", session=session, names=["agee"])


def test_editing_predicts_the_row_again(board: Board) -> None:
    wait_for_job(board, board.post("predict", session="demo"))
    before = board.get("row", session="demo", row=3)
    edited = board.post("edit", session="demo", row=3, values={"age": 80})
    scores = edited["row"]["scores"][0]
    assert scores["model"] == "linear" and len(scores["history"]) == 2
    assert scores["history"][-1] == [0, 1]
    values = {value["name"]: value for value in edited["row"]["values"]}
    original = {value["name"]: value for value in before["values"]}["age"]["value"]
    assert values["age"]["value"] == 80 and values["age"]["original"] == original
    undone = board.post("edit", session="demo", kind="undo")
    assert undone["row"]["row"] == 3 and undone["edit_count"] == 0
    copied = board.post("edit", session="demo", kind="duplicate", row=3)
    assert copied["row"]["row"] == 40 and copied["active_count"] == 41
    deleted = board.post("edit", session="demo", kind="delete", row=40)
    assert deleted["row"] is None and deleted["active_count"] == 40
    assert '"age" needs an integer' in board.fail(
        "edit", session="demo", row=3, values={"age": "x"}
    )
    assert "no row 99" in board.fail("edit", session="demo", row=99)


def test_counterfactuals_and_suggested_edits(board: Board) -> None:
    response = board.post("counterfactuals", session="demo", row=0, count=2, search_edits=True)
    assert len(response["rows"]) == 2
    assert response["rows"][0]["distance"] <= response["rows"][1]["distance"]
    nearest = response["rows"][0]
    assert sum(nearest["feature_distances"].values()) == pytest.approx(nearest["distance"])
    assert list(response["edits"][0]["changes"]) == ["age"]
    distances = board.post("distances", session="demo", row=0)
    assert len(distances["distances"]) == 40 and distances["distances"][0] == 0


def test_dependence_importance_and_shapley_jobs(board: Board) -> None:
    result = wait_for_job(board, board.post("dependence", session="demo", points=5, curves=3))
    assert result["status"]["state"] == "done"
    first = result["dependence"][0]
    assert first["features"] == ["age"] and len(first["values"][0]) == 5
    assert len(first["mean"]) == 5 * 2 and len(first["individual"]) == 3 * 5 * 2
    importance = wait_for_job(board, board.post("importance", session="demo"))
    assert [row["feature"] for row in importance["importance"]] == ["age", "job"]
    shapley = wait_for_job(board, board.post("shapley", session="demo", rows=[1]))
    row = shapley["shapley"][0]
    total = sum(row["contributions"]) + shapley["expected"]
    assert total == pytest.approx(row["prediction"])
    assert "does not have this job" in board.fail_get("job", job="unknown")


def test_performance_and_strategies(board: Board) -> None:
    response = board.post("performance", session="demo", slice_by=["job"], intervals="none")
    assert response["slices"][0] == "Overall" and len(response["slices"]) == 3
    assert len(response["tp"]) == 3 * 101
    assert response["counts"][0] == 40
    at_half = response["tp"][50] + response["tn"][50]
    metrics = {m["metric"]: m["value"][0] for m in response["metrics"]}
    assert metrics["accuracy"] == pytest.approx(at_half / 40)
    optimal = board.post("optimize", session="demo", slice_by=["job"], strategy="group")
    assert len(optimal["thresholds"]) == 2 and optimal["cost"] <= optimal["single_cost"]
    assert "needs slices" in board.fail("optimize", session="demo", strategy="group")


def test_statistics_and_drift(board: Board) -> None:
    session = open_people(board)
    same = open_people(board)
    response = board.post("statistics", session="demo", others=[session, same])
    rows = {row["name"]: row for row in response["rows"]}
    assert sum(rows["age"]["histogram"]) == 40
    assert [each["session"] for each in rows["age"]["others"]] == [session, same]
    for other in rows["age"]["others"]:
        assert sum(other["histogram"]) == other["count"] == 4
        assert other["jensen_shannon"] > 0
    # Values that only the other data sets have are listed, too.
    job = rows["job"]
    assert all(sum(other["histogram"]) == other["count"] for other in job["others"])
    assert len(job["values"]) == len(job["histogram"]) == len(job["others"][0]["histogram"])


def test_images_are_encoded_again(board: Board, tmp_path: Path) -> None:
    from PIL import Image

    buffer = tmp_path / "x.png"
    Image.new("RGB", (40, 20), "red").save(buffer)
    workspace = Workspace(
        to_table({"id": [1, 2]}).with_columns(
            [make_column("image", [buffer.read_bytes(), b"\x89PNG\r\n\x1a\nbroken"])]
        )
    )
    with start_board(tmp_path / "logs", DataAccess(workspaces={"x": workspace})) as other:
        response = other.request("GET", "image", session="x", row=0, feature="image", max_px=16)
        assert response.headers["content-type"] == "image/png"
        assert response.content.startswith(b"\x89PNG")
        assert "not a readable image" in other.fail_get(
            "image", session="x", row=1, feature="image"
        )
        assert "is not an image" in other.fail_get("image", session="x", row=0, feature="id")


def test_export_has_edits_and_predictions(board: Board) -> None:
    session = open_people(board)
    board.post("edit", session=session, row=0, values={"job": "baker"})
    text = board.request("GET", "export", session=session).text.splitlines()
    assert text[0] == "age,job,score,label,predicted,correct"
    assert text[1] == "20,baker,0.1,0,0,correct"
    lines = board.request("GET", "export", session=session, format="jsonl").text.splitlines()
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"type": "json", "name": "m", "url": "http://169.254.169.254/"}, "--model-host"),
        ({"type": "grpc", "name": "m", "address": "evil.example:80", "model": "m"}, "--model-host"),
        ({"type": "file", "name": "m", "path": "m.onnx"}, "--allow-model-execution"),
        ({"type": "columns", "name": "m", "columns": ["none"]}, 'no column "none"'),
        ({"type": "columns", "name": "linear", "columns": ["age"]}, "two models named"),
        ({"type": "json", "name": "m", "url": "http://localhost", "template": "{"}, "valid JSON"),
        ({"type": "json", "name": "m", "url": "http://[::1"}, "is not a valid address"),
        (
            {"type": "rest", "name": "m", "address": "localhost:port", "model": "m"},
            "is not a valid address",
        ),
    ],
)
def test_models_that_are_refused(board: Board, spec: Any, message: str) -> None:
    assert message in board.fail("models", session="demo", spec=spec)


def test_model_files_that_cannot_be_loaded_are_mistakes_of_the_request(tmp_path: Path) -> None:
    for name in ("m.pkl", "m.onnx", "m.ubj", "rows.csv"):
        (tmp_path / name).write_bytes(b"a\n1\n")
    access = DataAccess(data_dirs=(str(tmp_path),), allow_model_execution=True)
    with start_board(tmp_path, access) as board:
        assert {file["name"] for file in board.get("files")["models"]} == {"m.onnx", "m.ubj"}
        session = board.post("open", path="rows.csv")["session"]
        for name, message in (("m.pkl", "is a pickle"), ("m.onnx", "cannot load")):
            spec = {"type": "file", "name": "m", "path": name}
            response = board.request("POST", "models", session=session, spec=spec)
            problem = response.json()["error"]
            assert response.status_code == 422 and message in problem["message"].lower()
            assert "terminal" not in problem["hint"]


def test_failing_model_reports_a_sentence_and_loses_nothing(board: Board) -> None:
    board.post("models", session="demo",
               spec={"type": "json", "name": "down", "url": "http://localhost:9/"})  # fmt: skip
    result = wait_for_job(board, board.post("predict", session="demo", model="down"))
    assert result["status"]["state"] == "failed"
    assert "cannot reach localhost:9" in result["status"]["problem"]["text"]
    wait_for_job(board, board.post("predict", session="demo", model="linear"))
    info = board.get("about", session="demo")
    assert [model["is_predicted"] for model in info["models"]] == [True, False]
    removed = board.delete("models", session="demo", model="down")
    assert [model["name"] for model in removed["models"]] == ["linear"]


def test_running_job_is_cancelled_and_can_be_started_again(tmp_path: Path) -> None:
    started, release = threading.Event(), threading.Event()
    rows: list[int] = []

    def model(columns: Any) -> Any:
        rows.append(len(columns["age"]))
        started.set()
        assert release.wait(60)
        return columns["age"] / 100

    predictor = wrap_model(model, "slow")
    predictor.batch_rows = 1
    workspace = Workspace(to_table({"age": [20, 30, 40]}), [predictor])
    with start_board(tmp_path, DataAccess(workspaces={"x": workspace})) as board:
        try:
            status = board.post("predict", session="x")
            assert started.wait(60)
            board.delete("job", job=status["job"])
        finally:
            release.set()
        assert wait_for_job(board, status)["status"]["state"] == "cancelled"
        assert rows == [1]  # the other two rows were not sent to the model
        assert not board.get("about", session="x")["models"][0]["is_predicted"]
        again = wait_for_job(board, board.post("predict", session="x"))
        assert again["status"]["state"] == "done" and again["predicted_rows"] == 3


def test_closed_sessions_are_reported(board: Board) -> None:
    session = open_people(board)
    board.post("close", session=session)
    assert "open it again" in board.fail_get("about", session=session)
    board.post("configure", session="demo", label=None)
    assert "needs the true label" in board.fail("performance", session="demo")


def test_static_export_contains_open_data_sets(tmp_path: Path) -> None:
    workspace = make_workspace()
    workspace.predict()
    dashboard = create_dashboard(tmp_path, DataAccess(workspaces={"demo": workspace}))
    exported = dict(dashboard.export_static([]))
    dashboard.close()
    assert list(exported) == ["static?session=demo", "sessions"]
    demo: Any = exported["static?session=demo"]
    slicings = {"/".join(each.slice_by): each for each in demo.slicings}
    assert set(slicings) == {"", "age", "job"}
    assert slicings["age"].buckets == {"age": 4}
    assert all(set(each.performance) == {"linear"} for each in demo.slicings)
    assert len(demo.columns.columns) == 6


def test_static_export_has_the_slices_of_the_view(tmp_path: Path) -> None:
    workspace = make_workspace()
    workspace.predict()
    workspace.delete(1)
    access = DataAccess(workspaces={"demo": workspace})
    view = {"wi-slice": "job,age", "wi-bins": '{"age": [30]}'}
    exported: Any = dict(create_dashboard(tmp_path, access, view).export_static([]))
    found = exported["static?session=demo"].slicings[-1]
    assert (found.slice_by, found.buckets) == (["job", "age"], {"age": [30]})
    assert set(found.performance["linear"].slices) == {"Overall", *found.slices}
    rows = [row for at, row in enumerate(workspace.table.to_rows()) if at != 1]
    expected = [
        f"job_X_age:{row['job']}_X_{'< 30' if row['age'] < 30 else '>= 30'}" for row in rows
    ]
    assert [found.slices[code] for code in found.codes] == expected
    for changes in ({"wi-bins": "[1"}, {"wi-slice": "gone"}, {"wi-bins": '{"age": [3, 1]}'}):
        dashboard = create_dashboard(tmp_path, access, {**view, **changes})
        exported = dict(dashboard.export_static([]))
        assert len(exported["static?session=demo"].slicings) >= 3


def test_static_export_has_lists_and_edited_predictions(tmp_path: Path) -> None:
    table = to_table({"x": [0.1, 0.2, 0.3], "tags": [["a"], [], ["b", "c"]]})
    model = wrap_model(lambda columns: columns["x"], "m")
    workspace = Workspace(table, [model], features=["x"])
    workspace.predict()
    workspace.edit(2, {"x": 0.8})
    workspace.delete(0)
    workspace.predict()
    dashboard = create_dashboard(tmp_path, DataAccess(workspaces={"demo": workspace}))
    exported: Any = dict(dashboard.export_static([]))["static?session=demo"]
    dashboard.close()
    assert exported.lists == {"tags": [[], ["b", "c"]]}
    assert exported.scores["m"].values.tolist() == pytest.approx([0.8, 0.2, 0.2, 0.8])
    assert exported.scores["m"].earlier == {"2": [pytest.approx([0.7, 0.3])]}
    assert exported.originals == {"2": {"x": 0.3}}


def test_static_export_has_the_models_of_the_link_that_are_columns(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,score,label\n20,0.1,0\n50,0.9,1\n")
    models = (
        '[{"spec": {"type": "columns", "name": "mine", "columns": ["score"]}},'
        ' {"spec": {"type": "columns", "name": "gone", "columns": ["nothing"]}},'
        ' {"spec": {"type": "json", "name": "far", "url": "http://localhost:1/"}}]'
    )
    view = {"tab": "what_if", "wi-file": "people.csv", "wi-file-label": "label"}
    access = DataAccess(data_dirs=(str(tmp_path),))
    for text, names in ((models, ["mine"]), ("[{", []), ("[" * 9999, []), ('[{"spec": 3}]', [])):
        dashboard = create_dashboard(tmp_path, access, {**view, "wi-models": text})
        exported: Any = dict(dashboard.export_static([]))
        dashboard.close()
        (info,) = exported["sessions"].sessions
        assert [model.name for model in info.models] == names


def test_a_file_that_was_read_ahead_is_opened_once(board: Board, tmp_path: Path) -> None:
    assert board.get("read_ahead", path="people.csv") == {"is_reading": True}
    # Reading ahead is a hint: other limits, missing files and open sessions are no errors.
    assert len(board.get("sessions")["sessions"]) == 1
    opened = board.post("open", path="people.csv", label="label")
    assert opened["row_count"] == len(ROWS)
    (tmp_path / "data" / "people.csv").write_text("age,label\n1,0\n")
    again = board.get("read_ahead", path="people.csv", session=opened["session"])
    assert again == {"is_reading": False}
    assert board.post("open", path="people.csv", label="label")["row_count"] == 1
    board.get("read_ahead", path="missing.csv")
    assert "missing.csv" in board.fail("open", path="missing.csv")
    board.get("read_ahead", path="../secret.csv")
    assert board.fail("open", path=str(tmp_path / "secret.csv"))


@pytest.mark.parametrize(
    ("route", "fields", "message"),
    [
        ("dependence", {"features": ["age"], "is_pair": True}, "Choose two features for a joint"),
        (
            "dependence",
            {"features": ["age", "job"], "value_range": [0, 1]},
            "Choose a range for one feature at a time",
        ),
        ("shapley", {"rows": [1], "class_name": "old"}, 'No class "old"; the classes are 0, 1'),
        ("shapley", {"rows": [99]}, "no row 99"),
        ("edit", {"row": 0, "values": {"job": {"text": "a"}}}, '"job" must be a value, a list, or'),
        ("edit", {"row": 0, "values": {"job": {"base64": "?"}}}, '"job" is not valid base64'),
        ("edit", {"kind": "reset", "row": 40}, "Row 40 was added, so it has no earlier values"),
        ("performance", {"model": "other"}, 'No model "other"'),
    ],
)
def test_mistakes_are_one_sentence(board: Board, route: str, fields: Any, message: str) -> None:
    assert board.post("edit", session="demo", kind="duplicate", row=3)["row"]["row"] == 40
    assert message in board.fail(route, session="demo", **fields)


def test_rows_are_added_and_restored(board: Board) -> None:
    added = board.post("edit", session="demo", kind="add", values={"age": 30, "job": "cook"})
    assert added["row"]["row"] == 40 and added["active_count"] == 41
    values = {value["name"]: value["value"] for value in added["row"]["values"]}
    assert values == {"age": 30, "job": "cook", "label": None}
    before = board.get("row", session="demo", row=0)
    board.post("edit", session="demo", row=0, values={"age": 79, "job": "king"})
    restored = board.post("edit", session="demo", kind="reset", row=0)
    current = [value["value"] for value in restored["row"]["values"]]
    assert current == [value["value"] for value in before["values"]]
    again = board.post("edit", session="demo", kind="reset", row=0)
    assert again["edit_count"] == restored["edit_count"]


def test_columns_of_predictions_that_the_file_lacks_are_reported(board: Board) -> None:
    info = board.post("open", path="people.csv", prediction=["score", "scroe"])
    assert info["models"] == []
    assert [str(each["text"]) for each in info["problems"]] == [
        'the data has no column "scroe" with predictions'
    ]


def test_the_oldest_data_sets_are_closed(board: Board) -> None:
    keys = [board.post("open", path="people.csv")["session"] for _ in range(40)]
    listed = [session["session"] for session in board.get("sessions")["sessions"]]
    assert listed[0] == "demo" and listed[1:] == keys[-len(listed) + 1 :]
    assert len(listed) < 40
    assert "does not have this data set any more" in board.fail(
        "columns", session=keys[0], names=["age"]
    )


def test_labels_that_are_no_single_values_leave_predictions_without_them(tmp_path: Path) -> None:
    table = to_table({"x": [0.2, 0.7], "tags": [["a", "b"], ["c"]]})
    workspace = Workspace(table, [wrap_model(lambda c: c["x"], "m")], label="tags")
    with start_board(tmp_path, DataAccess(workspaces={"x": workspace})) as board:
        wait_for_job(board, board.post("predict", session="x"))
        (predicted,) = board.post("columns", session="x", names=["predicted"])["columns"]
        assert predicted["categories"] == ["0", "1"] and predicted["codes"] == [0, 1]
        assert 'no column "correct"' in board.fail("columns", session="x", names=["correct"])
        failed = board.fail("performance", session="x")
        text = board.request("GET", "export", session="x").text.splitlines()
    assert failed == '"tags" is not a column of labels.'
    assert text[:2] == ["x,tags,score,predicted", "0.2,a|b,0.2,0"]


def test_model_folders_are_listed(board: Board, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "saved"
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(b"")
    (tmp_path / "data" / "people.parquet").write_bytes(b"")
    files = board.get("files")
    assert [model["name"] for model in files["models"]] == ["saved"]
    assert [file["name"] for file in files["data"]] == ["people.csv", "people.parquet"]


@pytest.mark.parametrize("kind", ["rest", "kserve", "json"])
def test_servers_that_are_down_are_named(board: Board, kind: str) -> None:
    with socket.socket() as unused:  # bound and never listening
        unused.bind(("localhost", 0))
        address = f"localhost:{unused.getsockname()[1]}"
        spec = {"type": kind, "name": "remote"}
        spec |= (
            {"url": f"http://{address}"} if kind == "json" else {"address": address, "model": "m"}
        )
        info = board.post("models", session="demo", spec=spec)
        assert [model["name"] for model in info["models"]] == ["linear", "remote"]
        status = board.post("predict", session="demo", model="remote")
        result = wait_for_job(board, status)["status"]
    assert result["state"] == "failed"
    assert f"annot reach {address}" in str(result["problem"])
