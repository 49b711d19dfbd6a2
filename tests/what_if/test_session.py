"""The Python API on small data whose results are computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest

import tracklight
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import make_list_column, make_number_column
from tracklight.analysis.what_if.feature_statistics import compute_statistics
from tracklight.errors import ModelError, UsageError
from tracklight.what_if import Session

FRAME = pandas.DataFrame(
    {
        "age": [20, 30, 40, 50, 60, 70],
        "job": ["a", "a", "b", "b", "b", None],
        "label": [0, 0, 1, 0, 1, 1],
    }
)


class CountingModel:
    """Predicts from the age, and counts the rows that it was called with."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, frame: Any) -> Any:
        self.rows += len(frame)
        return (frame["age"].to_numpy() - 10) / 70


def make_session(**options: Any) -> tuple[Session, CountingModel]:
    model = CountingModel()
    return Session(FRAME, model, "label", **options), model


def test_predictions_have_scores_decisions_and_correctness() -> None:
    session, _ = make_session()
    frame = session.predictions().to_pandas()
    assert np.allclose(frame["score"], [1 / 7, 2 / 7, 3 / 7, 4 / 7, 5 / 7, 6 / 7])
    assert frame["predicted"].tolist() == ["0", "0", "0", "1", "1", "1"]
    assert frame["correct"].tolist() == ["correct", "correct", "incorrect", "incorrect",
                                         "correct", "correct"]  # fmt: skip
    lenient = session.predictions(threshold=3 / 7).to_pandas()
    assert lenient["predicted"].tolist()[2] == "1"  # a score that equals the threshold


def test_edit_predicts_only_the_changed_row_and_can_be_undone() -> None:
    session, model = make_session()
    session.predictions()
    assert model.rows == 6
    change = session.edit(0, age=80).to_pandas()
    assert model.rows == 7
    assert change["class"].tolist() == ["0", "1"]
    assert np.allclose(change["delta"], [-6 / 7, 6 / 7])
    assert session.data()["age"].tolist() == [80, 30, 40, 50, 60, 70]
    assert session.workspace.get_history(0)[0][1] == pytest.approx(1 / 7)
    assert session.undo()
    assert np.allclose(session.predictions()["score"][0], 1 / 7)
    assert not session.undo()


def test_rows_can_be_added_duplicated_and_deleted() -> None:
    session, model = make_session()
    session.predictions()
    assert session.duplicate(2) == 6
    assert session.add({"age": 45, "job": "a"}) == 7
    session.delete(0)
    frame = session.predictions().to_pandas()
    assert frame["row"].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert np.allclose(frame["score"].tolist()[-2:], [3 / 7, 0.5])
    assert model.rows == 8
    assert pandas.isna(frame["correct"].iloc[-1])  # no label
    with pytest.raises(UsageError, match="row 0 was deleted"):
        session.edit(0, age=3)


def test_counterfactual_by_the_rules_of_the_what_if_tool() -> None:
    session, _ = make_session()
    deviation = np.std(FRAME["age"], ddof=1)
    agreement = (2 / 5) ** 2 + (3 / 5) ** 2
    found = session.counterfactuals(1, k=3).to_pandas()
    expected = {3: 20 / deviation + agreement, 4: 30 / deviation + agreement, 5: 40 / deviation + 1}
    assert found["row"].tolist() == [3, 4, 5]
    assert np.allclose(found["distance"], list(expected.values()))
    squared = session.counterfactuals(1, distance="l2")
    assert squared["distance"][0] == pytest.approx((20 / deviation) ** 2 + agreement**2)
    assert found["predicted"].tolist() == ["1", "1", "1"]


def test_counterfactuals_with_weights_and_locked_features() -> None:
    session, _ = make_session()
    assert len(session.counterfactuals(0, k=5, locked=["job"])) == 0
    locked = session.counterfactuals(2, k=5, locked=["job"])
    assert locked["row"].tolist() == [3, 4]
    only_age = session.counterfactuals(1, weights={"job": 0})
    assert only_age["distance"][0] == pytest.approx(20 / np.std(FRAME["age"], ddof=1))
    with pytest.raises(UsageError, match='"color" is not a feature'):
        session.counterfactuals(1, weights={"color": 1})


def test_weights_of_columns_that_are_not_inputs_have_no_effect() -> None:
    session, _ = make_session(features=["age"])
    plain = session.counterfactuals(1, k=3).to_pandas()
    weighted = session.counterfactuals(1, k=3, weights={"job": 5, "label": 0}).to_pandas()
    assert plain.equals(weighted)
    halved = session.counterfactuals(1, k=3, weights={"job": 5, "age": 0.5})["distance"]
    assert np.allclose(halved, plain["distance"] / 2)


def test_counterfactuals_and_distances_by_embedding() -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.1, 1.0], [5.0, 1.0], [1.0, 0.1]])
    data = {**FRAME.to_dict("list"), "vector": vectors.tolist()}
    session = Session(data, lambda c: (np.array(c["age"]) - 10) / 70, "label", features=["age"])
    norms = np.linalg.norm(vectors, axis=1)
    cosine = 1 - vectors @ vectors[1] / (norms * norms[1])
    assert np.allclose(session.distances(1, "embedding")["distance"], cosine)
    euclidean = np.linalg.norm(vectors - vectors[1], axis=1)
    assert np.allclose(session.distances(1, "l2", embedding="vector")["distance"], euclidean)
    # By age, row 3 is the nearest to row 0 with another prediction; by vector, row 5.
    assert session.counterfactuals(0)["row"].tolist() == [3]
    found = session.counterfactuals(0, k=2, distance="embedding")
    assert found["row"].tolist() == [5, 4]
    assert found["distance"][0] == pytest.approx(1 - 1 / np.hypot(1, 0.1))
    nearest = session.counterfactuals(0, distance="l1", embedding="vector")
    assert nearest["row"].tolist() == [5] and nearest["distance"][0] == pytest.approx(0.1)


def test_custom_distance() -> None:
    rows = [{"x": x, "y": 0.0} for x in (0.0, 1.0, 4.0, 9.0)]

    def compare(row: dict[str, Any], others: list[dict[str, Any]]) -> list[float]:
        return [abs(row["x"] ** 0.5 - other["x"] ** 0.5) for other in others]

    def predict(columns: Any) -> Any:
        return np.asarray(columns["x"]) > 2

    session = Session({"x": [0.0, 1.0, 4.0, 9.0], "y": [0.0] * 4}, predict, distance=compare)
    expected = [abs(3 - row["x"] ** 0.5) for row in rows]
    assert list(session.distances(3, "custom")["distance"]) == expected
    found = session.counterfactuals(3, 2, "custom")
    assert list(found["row"]) == [1, 0]
    assert list(session.counterfactuals(3, 1, lambda row, others: [0, 5, 1, 1])["row"]) == [0]


def test_invalid_custom_distances_are_reported() -> None:
    session = Session({"x": [1.0, 2.0]}, prediction=None)
    with pytest.raises(UsageError, match="no distance function was given"):
        session.distances(0, "custom")
    with pytest.raises(UsageError, match=r"one number for each of the 2 rows.*\(3,\)"):
        session.distances(0, lambda row, rows: [1, 2, 3])
    with pytest.raises(UsageError, match="failed: KeyError: 'y'"):
        session.distances(0, lambda row, rows: row["y"])


def test_embedding_that_a_model_returns() -> None:
    def predict(frame: Any) -> Any:
        age = frame["age"].to_numpy()
        vectors = np.stack([age, 100 - age], axis=1)
        return {"predictions": (age - 10) / 70, "layer": vectors.tolist()}

    session = Session(FRAME, predict, "label")
    distances = session.distances(0, "l1", embedding="layer")["distance"]
    assert distances.tolist() == [0, 20, 40, 60, 80, 100]
    assert session.counterfactuals(0, distance="embedding")["row"].tolist() == [3]
    both = Session(FRAME, {"one": predict, "two": predict}, "label")
    assert both.distances(0, "l2", embedding="layer (two)")["distance"][0] == 0
    with pytest.raises(UsageError, match=r"several columns of vectors: layer \(one\), layer"):
        both.distances(0, "embedding")


def test_minimal_edits_change_as_little_as_possible() -> None:
    session, _ = make_session()
    edits = session.minimal_edits(0).to_pandas()
    assert edits["feature"].tolist() == ["age"]
    assert edits["before"].tolist() == [20] and edits["after"].tolist() == [50]
    # Two features are needed for this model.
    both = Session(FRAME, lambda f: ((f["age"] > 45) & (f["job"] == "b")).to_numpy(float), "label")
    changed = both.minimal_edits(0).to_pandas()
    assert sorted(changed["feature"]) == ["age", "job"]
    assert len(both.minimal_edits(0, features=["age"])) == 0


def test_regression_counterfactual_needs_a_difference() -> None:
    session = Session({"x": [1.0, 2.0, 3.0, 10.0]}, lambda c: c["x"] * 2, task="regression")
    assert session.counterfactuals(0, threshold=3)["row"].tolist() == [2]
    default = session.counterfactuals(0)  # the standard deviation of the predictions
    assert default["row"].tolist() == [3]


def test_partial_dependence_of_numbers_categories_and_pairs() -> None:
    session, _ = make_session()
    frame = session.partial_dependence("age", points=3).to_pandas()
    positive = frame[frame["class"] == "1"]
    assert positive["value"].tolist() == [20, 45, 70]
    assert np.allclose(positive["mean"], [1 / 7, 0.5, 6 / 7])
    job = session.partial_dependence("job").to_pandas()
    assert job["value"].tolist()[:2] == ["b", "a"]
    assert np.allclose(job[job["class"] == "1"]["mean"], 0.5)
    pair = session.partial_dependence(("age", "job"), points=2).to_pandas()
    assert len(pair) == 2 * 2 * 2 and set(pair["value_2"]) == {"a", "b"}
    ice = session.partial_dependence("age", kind="individual", row=3, points=2).to_pandas()
    assert ice["row"].unique().tolist() == [3] and len(ice) == 4
    ranked = session.partial_dependence().to_pandas()
    assert ranked["feature"].drop_duplicates().tolist() == ["age", "job"]
    one = session.partial_dependence("age", value_range=(10, 20), points=2).to_pandas()
    assert one["value"].unique().tolist() == [10, 20]


def test_two_models_are_compared() -> None:
    session = Session(
        FRAME,
        {"up": lambda f: f["age"] / 100, "down": lambda f: 1 - f["age"] / 100},
        "label",
    )
    frame = session.compare("up", "down").to_pandas()
    assert frame["row"].tolist()[:3] == [0, 1, 5]
    assert frame["flipped"].sum() == 5  # at age 50 both decide for class 1
    assert np.allclose(frame["delta"][0], 0.6)
    names = session.predictions().columns
    assert "score (up)" in names and "predicted (down)" in names
    table = session.performance(metrics=["accuracy"], intervals="none").to_pandas()
    assert table["model"].tolist() == ["up", "down"]


def test_predictions_that_are_columns_cannot_predict_edits() -> None:
    session = Session({"x": [1, 2, 3, 4], "p": [0.1, 0.4, 0.6, 0.9]}, prediction="p")
    assert session.predictions()["predicted"].tolist() == ["0", "0", "1", "1"]
    assert session.counterfactuals(0)["row"].tolist() == [2]
    assert session.features == ["x"]
    with pytest.raises(UsageError, match='"prediction" reads predictions from the data'):
        session.partial_dependence("x")


def test_drift_and_statistics() -> None:
    session, _ = make_session()
    statistics = session.feature_statistics().to_pandas().set_index("feature")
    assert statistics.loc["age", "mean"] == 45 and statistics.loc["age", "unique"] == 6
    assert statistics.loc["job", "missing"] == 1 and statistics.loc["job", "top"] == "b"
    same = session.drift(FRAME).to_pandas()
    assert (same["jensen_shannon"] == 0).all()
    moved = session.drift(FRAME.assign(age=FRAME["age"] + 100)).to_pandas()
    assert moved["feature"].tolist()[0] == "age"
    assert moved["kolmogorov_smirnov"][0] == 1
    both = session.drift(FRAME, FRAME.assign(age=FRAME["age"] + 100)).to_pandas()
    assert both["data_set"].tolist()[0] == 1 and len(both) == 2 * len(same)


def test_statistics_of_long_lists_are_those_of_a_sample() -> None:
    items = np.random.default_rng(0).integers(0, 4, 6_000_000)
    lists = make_list_column("items", make_number_column("items", items), np.full(6, 1_000_000))
    (found,) = compute_statistics(DataTable([lists]), ["items"])
    assert found.count == len(items) and found.minimum == 0 and found.maximum == 3
    assert found.mean == pytest.approx(items.mean(), abs=0.01)
    assert found.zeros == pytest.approx((items == 0).sum(), rel=0.01)
    assert found.length_histogram.tolist() == [6]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.edit(9, age=3), "no row 9; rows are 0 to 5"),
        (lambda s: s.edit(0, height=3), 'no column "height"'),
        (lambda s: s.edit(0, age="old"), '"age" needs an integer value, not "old"'),
        (lambda s: s.counterfactuals(0, distance="l3"), '"l3" is not a distance'),
        (lambda s: s.counterfactuals(0, distance="embedding"), "no column of vectors"),
        (lambda s: s.distances(0, embedding="job"), '"job" does not have vectors'),
        (lambda s: s.distances(0, embedding="jbo"), 'did you mean "job"'),
        (lambda s: s.performance(thresholds=2), "thresholds must be between 0 and 1"),
        (lambda s: s.performance(slice_by="ag"), 'did you mean "age"'),
        (lambda s: s.optimize("fair", "job"), '"fair" is not a strategy'),
        (lambda s: s.optimize("group"), 'the strategy "group" needs slices'),
        (lambda s: s.shapley_values(0, class_name="x"), 'no class "x"; the classes are 0, 1'),
        (lambda s: s.predictions("other"), 'no model "other"'),
        (lambda s: s.predictions("mode"), 'no model "mode"; did you mean "model"'),
        (lambda s: s.counterfactuals(0, k=0), "the number of counterfactuals must be at least 1"),
        (lambda s: s.frontier([]), "a frontier needs slices; pass slice_by"),
        (lambda s: s.optimize("single", cost_ratio=-1), "the cost ratio must be a number from 0"),
        (
            lambda s: s.optimize("bounded_gap", "job", max_gap=2),
            "the maximum gap must be between 0 and 1",
        ),
        (lambda s: s.add_model("model", lambda f: f["age"] / 100), "two models named"),
        (lambda s: s.add_feature("age", 0, 3), 'already have a column "age"'),
        (lambda s: s.save_slice("age", [1]), 'already have a column "age"'),
        (lambda s: s.save_slice(" ", [1]), "a slice needs a name"),
        (lambda s: s.save_slice("some", [6]), "no row 6"),
    ],
)
def test_mistakes_are_one_sentence(call: Any, message: str) -> None:
    session, _ = make_session()
    with pytest.raises(UsageError) as error:
        call(session)
    assert message in str(error.value)


def test_a_failing_model_keeps_earlier_predictions() -> None:
    state = {"fails": False}

    def model(frame: Any) -> Any:
        return 1 / 0 if state["fails"] else np.full(len(frame), 0.25)

    session = Session(FRAME, model, "label")
    session.predictions()
    state["fails"] = True
    with pytest.raises(ModelError, match="ZeroDivisionError"):
        session.edit(0, age=1)
    state["fails"] = False
    assert np.allclose(session.predictions()["score"], 0.25)
    assert session.data()["age"][0] == 1


def test_package_is_callable_and_lazy() -> None:
    assert tracklight.what_if.Session is Session
    assert callable(tracklight.what_if)


def test_class_names_of_hugging_face_data() -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        {"age": datasets.Value("int64"), "label": datasets.ClassLabel(names=["no", "yes"])}
    )
    data = datasets.Dataset.from_dict({"age": [20, 60], "label": [0, 1]}, features=features)
    session = Session(data, lambda rows: [row["age"] / 80 for row in rows], "label", input="rows")
    predicted = session.predictions().to_pandas()
    assert predicted["predicted"].tolist() == ["no", "yes"]
    assert predicted["correct"].tolist() == ["correct", "correct"]


def test_no_model_and_no_label() -> None:
    session = Session(FRAME)
    with pytest.raises(UsageError, match="there is no model"):
        session.predictions()
    with pytest.raises(UsageError, match="needs the true label"):
        Session(FRAME, lambda f: f["age"] / 100).performance()


def test_models_features_and_slices_are_added() -> None:
    with make_session()[0] as session:
        session.add_model("constant", lambda frame: np.full(len(frame), 0.25))
        assert session.models == ["model", "constant"]
        session.add_feature("city", 2, "Rome")
        session.add_feature("pay", 3, 2.5, is_input=False)
        data = session.data().to_pandas()
        assert data["city"].dropna().to_dict() == {2: "Rome"}
        assert data["pay"].dropna().to_dict() == {3: 2.5}
        assert "city" in session.features and "pay" not in session.features
        session.save_slice("errors", [2, 3])
        session.save_slice("none", [])
        found = session.performance("errors", model="model", metrics=["accuracy"], intervals="none")
        counts = found.to_pandas().set_index("slice")["count"].to_dict()
        assert counts == {"Overall": 6, "errors:False": 4, "errors:True": 2}
        assert not session.data()["none"].any()


def test_predictions_are_found_in_the_data() -> None:
    session = Session({"x": [1, 2, 3], "predictions": [0.1, 0.6, 0.9]}, label="x")
    assert session.predictions()["value"].tolist() == [0.1, 0.6, 0.9]
    scores = [[0.75, 0.25], [0.5, 0.5]]
    session = Session({"x": [1, 2], "predictions__probabilities": scores})
    assert session.predictions()["score"].tolist() == [0.25, 0.5]


def test_regression_models_are_compared() -> None:
    data = {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.5, 3.0]}
    models = {
        "one": lambda c: c["x"],
        "two": lambda c: c["x"] * np.array([1, 3, 1.5])[: len(c["x"])],
    }
    session = Session(data, models, "y", task="regression", features=["x"])
    frame = session.compare("one", "two").to_pandas()
    assert frame["row"].tolist() == [1, 2, 0]
    assert frame["value (one)"].tolist() == [2, 3, 1] and frame["delta"].tolist() == [4, 1.5, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.optimize("single", model="three"), "thresholds need a model with two classes"),
        (lambda s: s.compare("two", "three"), '"two" and "three" do not have the same classes'),
        (lambda s: s.compare("two", "value"), '"two" and "value" do not have the same classes'),
        (lambda s: s.performance("image"), '"image" is not a column of single values, so it has'),
        (lambda s: s.performance(("v", "x")), '"v" is not a column of single values, so it has'),
        (lambda s: s.permutation_importance(metric="r2"), '"r2" is not a metric here; use one of'),
        (
            lambda s: s.permutation_importance(metric="auc", model="three"),
            '"auc" needs a model with two classes',
        ),
    ],
)
def test_models_and_columns_that_do_not_fit(call: Any, message: str) -> None:
    png = b"\x89PNG\r\n\x1a\n"
    data = {"x": [0.2, 0.7, 0.4], "y": [0, 1, 1], "v": [[1, 2]] * 3, "image": [png] * 3}
    session = Session(
        data,
        {
            "two": lambda c: c["x"],
            "three": lambda c: np.full((len(c["x"]), 3), 1 / 3),
            "value": wrap_model(lambda c: c["x"], "value", task="regression"),
        },
        "y",
        features=["x"],
    )
    with pytest.raises(UsageError) as error:
        call(session)
    assert message in str(error.value)


def test_a_model_that_needs_a_feature_the_data_lack() -> None:
    model = wrap_model(lambda c: c["age"], "m", features=["age", "height"])
    with pytest.raises(
        ModelError, match='the model "m" needs the feature "height", which the data'
    ):
        Session(FRAME, model, "label").predictions()


def test_performance_by_two_columns_and_of_several_classes() -> None:
    frame = FRAME.assign(flag=pandas.array([True, False, None] * 2, dtype="boolean"))
    scores = np.eye(3)[[0, 1, 2, 0, 1, 2]]
    data = {**frame.to_dict("list"), "p": scores.tolist(), "kind": [0, 1, 2, 2, 1, 0]}
    first = Session(data, prediction="p", label="kind", features=["age"])
    found = first.performance(("job", "flag"), metrics=["accuracy"], intervals="none").to_pandas()
    expected = pandas.DataFrame({"job": frame["job"], "flag": frame["flag"]}).fillna(
        {"job": "missing"}
    )
    names = (
        expected["job"]
        + "_X_"
        + frame["flag"]
        .astype(object)
        .map(lambda value: "missing" if value is pandas.NA else str(value))
    )
    counts = dict(zip(found["slice"], found["count"], strict=True))
    assert counts.pop("Overall") == 6
    assert counts == {f"job_X_flag:{name}": n for name, n in names.value_counts().items()}
    correct = scores.argmax(axis=1) == np.array(data["kind"])
    assert found["value"][0] == pytest.approx(correct.mean())


def test_models_of_several_classes_are_compared_by_class() -> None:
    random = np.random.default_rng(0)
    kind = random.integers(0, 3, 60)
    good, bad = np.eye(3)[kind] * 0.4 + 0.2, random.dirichlet(np.ones(3), 60)
    session = Session(
        {"row": np.arange(60), "kind": kind},
        {"good": lambda c: good[c["row"]], "bad": lambda c: bad[c["row"]]},
        "kind",
        features=["row"],
    )
    frame = session.compare_performance(
        "bad", "good", metrics=["accuracy", "recall"], intervals="none"
    ).to_pandas()
    accuracy = frame[frame["metric"] == "accuracy"].iloc[0]
    assert accuracy["second"] == 1
    assert accuracy["first"] == pytest.approx((bad.argmax(axis=1) == kind).mean())
    recall = frame[(frame["metric"] == "recall") & (frame["class"] == "2")]
    without, at_half = recall["first"].tolist()
    assert recall["threshold"].fillna(-1).tolist() == [-1, 0.5]
    rows = kind == 2
    assert without == pytest.approx((bad.argmax(axis=1) == 2)[rows].mean())
    assert at_half == pytest.approx((bad[:, 2] >= 0.5)[rows].mean())


def test_matrices_at_a_threshold_of_each_slice() -> None:
    session, _ = make_session()
    limits = {"Overall": 0.9, "job:a": 0.2}
    table = session.confusion("job", thresholds=limits).to_pandas()
    score = (FRAME["age"] - 10) / 70
    limit = FRAME["job"].map(lambda job: limits.get(f"job:{job}", 0.5))
    for job in ("a", "b"):
        rows = FRAME["job"] == job
        part = table[table["slice"] == f"job:{job}"]
        expected = pandas.crosstab(FRAME["label"][rows], (score >= limit)[rows])
        for row in part.itertuples():
            count = expected.get(row.predicted == "1", {}).get(int(row.label), 0)
            assert row.count == count


def test_missing_booleans_stay_missing() -> None:
    frame = pandas.DataFrame({"flag": pandas.array([True, None, False], dtype="boolean")})
    data = Session(frame).data()
    assert list(data["flag"]) == [True, None, False]
