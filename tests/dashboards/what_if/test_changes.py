"""Changes of rows, features and classes through HTTP, also with models that fail."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import auc, average_precision_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.dashboards.what_if.board import Board, start_board, wait_for_job
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.source import DataAccess
from tracklight.analysis.tables.columns import make_column
from tracklight.analysis.tables.objects import to_table
from tracklight.analysis.what_if.workspace import Workspace


class FragileModel:
    """Fails for missing values, and for all while it is down."""

    is_down = False

    def __call__(self, columns: Any) -> Any:
        if self.is_down:
            raise ConnectionError("connection refused")
        if np.isnan(np.asarray(columns["x"], float)).any():
            raise ValueError("Input contains NaN")
        return {
            "predictions": np.clip(np.asarray(columns["x"], float) / 10, 0, 1),
            "attributions": {"x": np.asarray(columns["x"], float) - 5},
        }


@pytest.fixture
def model() -> FragileModel:
    return FragileModel()


@pytest.fixture
def board(tmp_path: Path, model: FragileModel) -> Iterator[Board]:
    table = to_table({"x": np.arange(10.0), "word": ["a", "b"] * 5, "y": [0, 1] * 5})
    small = Workspace(table, [wrap_model(model, "fragile")], label="y")
    workspaces = {"small": small, "wine": make_wine(), "diabetes": make_diabetes()}
    for workspace in workspaces.values():
        workspace.predict()
    data = tmp_path / "data"
    data.mkdir()
    (data / "names.txt").write_text("no\nyes\n\n")
    (data / "rows.csv").write_text("x,score,y\n1,0.2,0\n2,0.8,1\n")
    access = DataAccess(data_dirs=(str(data),), workspaces=workspaces)
    with start_board(tmp_path, access) as started:
        yield started


def make_wine() -> Workspace:
    """Return three classes, with scores of two digits: thresholds separate all of them."""
    wine = load_wine(as_frame=True)
    chosen = wine.data[["alcohol", "ash", "hue"]]
    classifier = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        chosen.to_numpy(), wine.target
    )

    def predict(columns: Any) -> Any:
        matrix = np.stack([columns[name] for name in chosen], axis=1)
        return classifier.predict_proba(matrix).round(2)

    table = to_table({**{name: chosen[name].to_numpy() for name in chosen},
                      "kind": wine.target.to_numpy(),
                      "strong": np.where(chosen["alcohol"] > 13, "yes", "no")})  # fmt: skip
    names = list(chosen)
    return Workspace(table, [wrap_model(predict, "wine")], label="kind", features=names)


def make_diabetes() -> Workspace:
    frame = load_diabetes(as_frame=True, scaled=False).frame
    names = ["age", "bmi", "bp"]
    regressor = LinearRegression().fit(frame[names], frame["target"])
    table = to_table(frame)
    return Workspace(table, [wrap_model(regressor, "linear")], label="target")


def edit(board: Board, **fields: Any) -> Any:
    return board.post("edit", session="small", **fields)


def get_scores(board: Board) -> list[float | str]:
    column = board.post("columns", session="small", names=["score"])["columns"][0]
    scores: list[float | str] = column["numbers"]
    return scores


def test_a_model_that_fails_for_one_row_keeps_the_others(board: Board) -> None:
    response = edit(board, row=3, values={"x": None})
    assert [each["code"] for each in response["problems"]] == ["models.raised"]
    assert "Input contains NaN" in response["problems"][0]["text"]
    assert response["row"]["values"][0]["value"] is None
    assert response["row"]["scores"][0]["history"] == [[0.7, 0.3], [None, None]]
    scores = get_scores(board)
    assert scores[3] == "NaN" and scores[4] == 0.4
    message = board.fail("counterfactuals", session="small", row=3)
    assert "no prediction of row 3" in message
    # Other rows are edited as before, and a valid value repairs this one.
    assert edit(board, row=4, values={"x": 9})["problems"] == []
    fixed = edit(board, row=3, values={"x": 8})
    assert fixed["problems"] == []
    assert fixed["row"]["scores"][0]["history"] == [
        pytest.approx([0.7, 0.3]),
        pytest.approx([0.2, 0.8]),
    ]


def test_a_row_is_predicted_when_the_model_is_back(board: Board, model: FragileModel) -> None:
    model.is_down = True
    assert "connection refused" in edit(board, row=1, values={"x": 6})["problems"][0]["text"]
    added = edit(board, kind="duplicate", row=2)
    assert added["row"]["row"] == 10 and added["problems"]
    assert get_scores(board)[1] == "NaN"
    model.is_down = False
    response = edit(board, kind="predict", row=1)
    assert response["problems"] == [] and response["edit_count"] == 2
    scores = get_scores(board)
    assert scores[1] == 0.6 and scores[10] == 0.2


def test_undo_after_a_failure_restores_the_prediction(board: Board) -> None:
    edit(board, row=3, values={"x": None})
    response = edit(board, kind="undo")
    assert response["problems"] == []
    assert response["row"]["scores"][0]["history"][-1] == pytest.approx([0.7, 0.3])


def test_changes_are_listed_with_the_newest_first(board: Board) -> None:
    edit(board, row=3, values={"x": 6})
    edit(board, kind="duplicate", row=2)
    edit(board, kind="delete", row=1)
    edits = board.get("about", session="small")["edits"]
    assert [(each["kind"], each["row"]) for each in edits] == [
        ("delete", 1), ("duplicate", 10), ("edit", 3)]  # fmt: skip
    assert edits[-1]["changes"] == [{"name": "x", "before": 3, "after": 6}]
    edit(board, kind="undo")
    assert len(board.get("about", session="small")["edits"]) == 2


def test_features_are_added_to_one_row(board: Board) -> None:
    fields = {"session": "small", "row": 2, "name": " note ", "type": "string", "value": "odd"}
    response = board.post("feature", **fields)
    values = {each["name"]: each for each in response["row"]["values"]}
    assert values["note"]["value"] == "odd" and values["note"]["original"] is None
    column = board.post("columns", session="small", names=["note"])["columns"][0]
    assert [code >= 0 for code in column["codes"]] == [row == 2 for row in range(10)]
    info = board.get("about", session="small")
    assert {each["name"]: each["is_input"] for each in info["columns"]}["note"]
    assert "already have a column" in board.fail("feature", **fields)
    assert "needs a name" in board.fail("feature", **{**fields, "name": " "})
    wrong = {**fields, "name": "n", "type": "integer", "value": "many"}
    assert '"n" needs an integer value, not "many"' in board.fail("feature", **wrong)
    edit(board, kind="undo")
    names = [each["name"] for each in board.get("about", session="small")["columns"]]
    assert "note" not in names and "n" not in names


def test_a_feature_that_is_no_input_is_not_passed(board: Board) -> None:
    fields = {"session": "small", "row": 0, "name": "group", "type": "integer", "value": 4}
    board.post("feature", **fields, is_input=False)
    info = board.get("about", session="small")
    assert {each["name"]: each["is_input"] for each in info["columns"]}["group"] is False
    assert info["models"][0]["features"] == ["x", "word"]
    edit(board, kind="reset", row=0)
    row = board.get("row", session="small", row=0)
    assert {each["name"]: each["value"] for each in row["values"]}["group"] is None


def test_classes_are_named(board: Board) -> None:
    def configure(**fields: Any) -> Any:
        return board.post("configure", session="small", label="y", **fields)

    info = configure(class_names=["no", "yes"])
    assert info["models"][0]["class_names"] == ["no", "yes"]
    predicted = board.post("columns", session="small", names=["predicted"])["columns"][0]
    assert predicted["categories"] == ["no", "yes"]
    assert board.post("performance", session="small")["label_values"] == ["0", "1"]
    fields = {"session": "small", "label": "y"}
    message = board.fail("configure", **fields, class_names=["a", "b", "c"])
    assert message == 'The model "fragile" has 2 classes, but 3 names were given.'
    assert "two classes" in board.fail("configure", **fields, class_names=["a", "a"]).lower()
    assert "needs a name" in board.fail("configure", **fields, class_names=["a", " "])
    assert configure(class_names=[])["models"][0]["class_names"] == ["0", "1"]
    named = configure(classes_path="names.txt")
    assert named["models"][0]["class_names"] == ["no", "yes"]
    message = board.fail("configure", **fields, classes_path="/etc/passwd")
    assert "outside the log directory" in message


def test_class_names_of_an_opened_file(board: Board) -> None:
    info = board.post("open", path="rows.csv", label="y", prediction=["score"],
                      class_names=["low", "high"])  # fmt: skip
    assert info["models"][0]["class_names"] == ["low", "high"]


def test_inputs_of_models_are_chosen(board: Board) -> None:
    info = board.post("configure", session="small", label="y", features=["x"])
    assert [each["name"] for each in info["columns"] if each["is_input"]] == ["x"]
    assert info["models"][0]["features"] == ["x"] and not info["models"][0]["is_predicted"]


def test_curves_of_each_class_equal_scikit_learn(board: Board) -> None:
    response = board.post("performance", session="wine", slice_by=["strong"], intervals="none")
    workspace = make_wine()
    scores, labels = workspace.predict().scores, workspace.get_labels()
    strong = np.array([workspace.table.get_row(row)["strong"] for row in range(len(labels))])
    size = len(response["slices"]) * 3
    tp = np.array(response["class_tp"]).reshape(size, 101)
    fp = np.array(response["class_fp"]).reshape(size, 101)
    for at, name in enumerate(response["slices"]):
        rows = np.ones(len(labels), bool) if at == 0 else strong == name.split(":")[1]
        for number in range(3):
            positives, negatives = tp[at * 3 + number], fp[at * 3 + number]
            is_class = labels[rows] == number
            x, y = negatives[::-1] / negatives[0], positives[::-1] / positives[0]
            area = auc([0, *x], [0, *y])
            assert area == pytest.approx(roc_auc_score(is_class, scores[rows, number]))
            used = (positives + negatives)[::-1] > 0
            precision = positives[::-1][used] / (positives + negatives)[::-1][used]
            recall = y[used]
            average = float(np.sum(np.diff([0, *recall]) * precision))
            assert average == pytest.approx(average_precision_score(is_class, scores[rows, number]))


def test_mean_attributions_by_slice(board: Board) -> None:
    response = board.post("performance", session="small", slice_by=["word"], intervals="none")
    assert response["slices"] == ["Overall", "word:a", "word:b"]
    assert response["attributions"] == {"x": pytest.approx([-0.5, -1, 0])}


def test_median_errors_equal_pandas(board: Board) -> None:
    response = board.post("performance", session="diabetes", slice_by=["sex"])
    workspace = make_diabetes()
    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame["error"] = workspace.predict().scores - frame["target"]
    frame["absolute"], frame["squared"] = frame["error"].abs(), frame["error"] ** 2
    by_sex = frame.groupby("sex")
    metrics = {each["metric"]: each for each in response["metrics"]}
    for metric, column in [("error", "error"), ("absolute_error", "absolute"),
                           ("squared_error", "squared")]:  # fmt: skip
        found = metrics[f"median_{metric}"]
        expected = pandas.concat([pandas.Series([frame[column].median()]),
                                  by_sex[column].median()])  # fmt: skip
        assert sorted(found["value"]) == pytest.approx(sorted(expected))
        assert np.all(np.array(found["lower"]) <= found["value"])
        assert np.all(np.array(found["upper"]) >= found["value"])


@pytest.mark.parametrize("method", ["bootstrap", "jackknife", "exact"])
def test_intervals_of_medians_agree_with_an_independent_bootstrap(
    board: Board, method: str
) -> None:
    response = board.post("performance", session="diabetes", intervals=method)
    metrics = {each["metric"]: each for each in response["metrics"]}
    workspace = make_diabetes()
    errors = workspace.predict().scores - workspace.get_values()
    rng = np.random.default_rng(1)
    samples = np.abs(errors)[rng.integers(0, len(errors), (2000, len(errors)))]
    expected = 2 * 1.96 * np.median(samples, axis=1).std()
    found = metrics["median_absolute_error"]
    width = found["upper"][0] - found["lower"][0]
    # 20 samples or groups estimate a standard error to about a sixth.
    assert 0.5 * expected < width < 2 * expected


def test_rows_are_compared_by_attributions(board: Board) -> None:
    response = board.post("distances", session="small", row=2, by_attributions=True)
    spread = np.std(np.arange(10.0), ddof=1)
    assert response["features"] == ["x"]
    assert response["distances"] == pytest.approx(np.abs(np.arange(10) - 2) / spread)
    found = board.post("counterfactuals", session="small", row=2, by_attributions=True)
    assert [each["row"] for each in found["rows"]] == [5]
    message = board.fail("distances", session="wine", row=2, by_attributions=True)
    assert '"wine" returns no attributions' in message


def test_items_of_lists_are_varied(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).uniform(0, 1, (30, 4))
    table = to_table({"x": np.arange(30.0)}).with_columns([make_column("v", vectors.tolist())])
    model = wrap_model(lambda columns: np.asarray(columns["v"])[:, 2], "third")
    workspace = Workspace(table, [model])
    workspace.predict()
    with start_board(tmp_path, DataAccess(workspaces={"vectors": workspace})) as board:
        result = wait_for_job(board, board.post("dependence", session="vectors"))
        curves = result["dependence"]
        assert curves[0]["features"] == ["v[2]"]
        low, high = vectors[:, 2].min(), vectors[:, 2].max()
        assert curves[0]["variation"] == pytest.approx(high - low)
        assert sorted(curve["features"][0] for curve in curves) == [
            "v[0]", "v[1]", "v[2]", "v[3]", "x"]  # fmt: skip
        some = wait_for_job(board, board.post("dependence", session="vectors", items="0, 2-9"))
        assert {c["features"][0] for c in some["dependence"]} == {"v[0]", "v[2]", "v[3]", "x"}
        message = board.fail("dependence", session="vectors", items="two")
        assert '"two" is not a list of items such as 0,2,4-6' in message


def test_mean_attributions_have_intervals(board: Board) -> None:
    response = board.post("performance", session="small", slice_by=["word"])
    lower, upper = response["attribution_lower"]["x"], response["attribution_upper"]["x"]
    assert lower[0] < -0.5 < upper[0]


def test_differences_of_two_models_have_intervals(board: Board) -> None:
    """A model beside itself differs by nothing, in any sample."""
    name = board.get("about", session="wine")["models"][0]["name"]
    response = board.post("comparison", session="wine", model=name, other=name,
                          slice_by=["strong"])  # fmt: skip
    assert response["slices"][0] == "Overall"
    accuracy = next(each for each in response["differences"] if each["metric"] == "accuracy")
    assert accuracy["value"] == pytest.approx([0] * len(response["slices"]))


def test_a_model_that_returns_nan_is_named(tmp_path: Path) -> None:
    def model(columns: Any) -> Any:
        return np.where(columns["x"] < 3, np.nan, 0.5)

    workspace = Workspace(to_table({"x": np.arange(10.0)}), [wrap_model(model, "m")])
    with start_board(tmp_path, DataAccess(workspaces={"x": workspace})) as board:
        wait_for_job(board, board.post("predict", session="x"))
        problem = board.get("about", session="x")["problems"][0]["text"]
        assert problem == 'the model "m" returned NaN for 3 of 10 rows; they have no prediction'


def test_the_range_of_partial_dependence_leaves_out_deleted_rows(tmp_path: Path) -> None:
    table = to_table({"x": [1.0, 2.0, 3.0, 100.0], "label": [0, 1, 0, 1]})
    workspace = Workspace(table, [wrap_model(lambda c: c["x"] / 200, "m")], label="label")
    workspace.delete(3)
    workspace.predict("m")
    with start_board(tmp_path, DataAccess(workspaces={"data": workspace})) as board:
        status = board.post("dependence", session="data", model="m", features=["x"])
        (curve,) = wait_for_job(board, status)["dependence"]
    assert (min(curve["values"][0]), max(curve["values"][0])) == (1, 3)
