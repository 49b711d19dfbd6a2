"""`tracklight.fairness.evaluate` for each kind of table."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import tracklight
from tracklight.errors import FormatError, UsageError
from tracklight.fairness import Buckets, SliceSpec, evaluate
from tracklight.fairness import data as data_module


def make_columns(rows: int = 3000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, rows)
    return {
        "label": label,
        "score": np.clip(rng.normal(0.35 + 0.3 * label, 0.2), 0, 1).round(4),
        "sex": rng.choice(np.array(["F", "M"], object), rows),
        "age": rng.integers(18, 90, rows),
        "weight": rng.random(rows),
        "changed": rng.random(rows),
    }


COLUMNS = make_columns()
ARGUMENTS = {"label": "label", "prediction": "score", "slices": ["sex", "age > 60"]}


def expected_recall(mask=True, threshold=0.5):
    rows = (COLUMNS["label"] == 1) & mask
    return (COLUMNS["score"][rows] > threshold).mean()


def write_parquet(tmp_path, parts=1):
    frame = pd.DataFrame(COLUMNS)
    paths = []
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        path = tmp_path / f"part{number}.parquet"
        frame.iloc[rows].to_parquet(path, row_group_size=500)
        paths.append(str(path))
    return paths


def open_one_shot():
    table = pa.table(COLUMNS)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=700))


TABLES = {
    "dict": lambda tmp: COLUMNS,
    "lists": lambda tmp: {name: column.tolist() for name, column in COLUMNS.items()},
    "structured": lambda tmp: pd.DataFrame(COLUMNS).to_records(index=False),
    "pandas": lambda tmp: pd.DataFrame(COLUMNS),
    "pandas categories": lambda tmp: pd.DataFrame(COLUMNS).astype({"sex": "category"}),
    "pandas nullable": lambda tmp: pd.DataFrame(COLUMNS).convert_dtypes(),
    "polars": lambda tmp: pl.DataFrame({**COLUMNS, "sex": COLUMNS["sex"].tolist()}),
    "polars lazy": lambda tmp: pl.DataFrame({**COLUMNS, "sex": COLUMNS["sex"].tolist()}).lazy(),
    "arrow": lambda tmp: pa.table(COLUMNS),
    "arrow batch": lambda tmp: pa.table(COLUMNS).to_batches()[0],
    "arrow reader": lambda tmp: open_one_shot(),
    "arrow data set": lambda tmp: pyarrow.dataset.dataset(write_parquet(tmp, 2)),
    "parquet": lambda tmp: write_parquet(tmp)[0],
    "parquet list": lambda tmp: write_parquet(tmp, 3),
    "parquet folder": lambda tmp: (write_parquet(tmp, 3), tmp)[1],
    "parquet pattern": lambda tmp: (write_parquet(tmp, 3), str(tmp / "part*.parquet"))[1],
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_kind_of_table_gives_the_same_result(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(data_module, "CHUNK_ROWS", 1000)
    result = evaluate(TABLES[kind](tmp_path), **ARGUMENTS)
    assert sorted(result.slices) == ["Overall", "filter:age > 60", "sex:F", "sex:M"]
    recall = result.get("recall", threshold=0.5)
    assert recall == pytest.approx(expected_recall())
    recall = result.get("recall", "sex:F", threshold=0.5)
    assert recall == pytest.approx(expected_recall(COLUMNS["sex"] == "F"))
    recall = result.get("recall", "filter:age > 60", threshold=0.5)
    assert recall == pytest.approx(expected_recall(COLUMNS["age"] > 60))
    reference = evaluate(COLUMNS, **ARGUMENTS)
    row, column = result.evaluation.get_slice("sex:F"), result.evaluation.get_column("recall", 0.5)
    other = reference.evaluation.get_slice("sex:F")
    assert result.evaluation.lower[row, column] == reference.evaluation.lower[other, column]


def test_a_slice_of_several_specifications_is_in_the_result_once():
    specs = ["sex", ["sex"], {"sex": "F"}]
    result = evaluate(COLUMNS, label="label", prediction="score", slices=specs)
    expected = evaluate(COLUMNS, label="label", prediction="score", slices=["sex"])
    assert result.slices == expected.slices
    np.testing.assert_array_equal(result.evaluation.value, expected.evaluation.value)
    none = evaluate(COLUMNS, label="label", prediction="score", slices=specs, min_slice_size=10**6)
    assert sorted(none.omitted) == sorted(expected.slices)


def test_table_columns():
    result = evaluate(COLUMNS, **ARGUMENTS, thresholds=[0.5], metrics=["recall", "auc"])
    frame = result.to_pandas()
    assert list(frame) == ["slice", "metric", "threshold", "value", "lower", "upper", "count"]
    row = frame[(frame["slice"] == "sex:F") & (frame["metric"] == "recall")].iloc[0]
    assert row["value"] == pytest.approx(expected_recall(COLUMNS["sex"] == "F"))
    assert row["lower"] < row["value"] < row["upper"]
    assert row["count"] == (COLUMNS["sex"] == "F").sum()
    assert frame[frame["metric"] == "auc"]["threshold"].isna().all()
    assert len(result.to_polars()) == len(result.to_arrow()) == len(frame) == 8


def test_difference_table():
    result = evaluate(COLUMNS, **ARGUMENTS, thresholds=[0.5], metrics=["recall"])
    frame = result.difference(baseline="sex:M").to_pandas().set_index("slice")
    value, baseline = result.get("recall", "sex:F"), result.get("recall", "sex:M")
    assert frame.loc["sex:F", "difference"] == pytest.approx(value - baseline)
    assert frame.loc["sex:F", "relative"] == pytest.approx(value / baseline - 1)
    assert frame.loc["sex:M", "difference"] == 0
    assert not frame.loc["sex:M", "significant"]


def test_arrays_instead_of_columns():
    columns = {"sex": COLUMNS["sex"]}
    result = evaluate(
        columns,
        label=COLUMNS["label"],
        prediction=COLUMNS["score"],
        weight=COLUMNS["weight"],
        slices=["sex"],
    )
    mask = (COLUMNS["sex"] == "F") & (COLUMNS["label"] == 1)
    weights = COLUMNS["weight"][mask]
    expected = np.average(COLUMNS["score"][mask] > 0.5, weights=weights)
    assert result.get("recall", "sex:F", threshold=0.5) == pytest.approx(expected)


def test_where_restricts_rows():
    result = evaluate(COLUMNS, label="label", prediction="score", where="age between 30 and 50")
    mask = (COLUMNS["age"] >= 30) & (COLUMNS["age"] <= 50)
    assert result.get("example_count") == mask.sum()
    assert result.get("recall", threshold=0.5) == pytest.approx(expected_recall(mask))


def test_buckets_by_quantile_use_the_whole_column(tmp_path, monkeypatch):
    monkeypatch.setattr(data_module, "CHUNK_ROWS", 500)
    frame = pd.DataFrame(COLUMNS).sort_values("age")
    path = tmp_path / "sorted.parquet"
    frame.to_parquet(path)
    spec = SliceSpec("age", buckets={"age": Buckets(quantiles=2)})
    result = evaluate(path, label="label", prediction="score", slices=[spec])
    median = np.quantile(COLUMNS["age"], 0.5)
    assert f"age:< {median:g}" in result.slices
    assert len(result.slices) == 3
    with pytest.raises(UsageError, match="can be read only once"):
        evaluate(open_one_shot(), label="label", prediction="score", slices=[spec])


def test_flip_rates():
    result = evaluate(COLUMNS, **ARGUMENTS, counterfactual="changed")
    expected = ((COLUMNS["score"] > 0.5) != (COLUMNS["changed"] > 0.5)).mean()
    assert result.get("flip_rate", threshold=0.5) == pytest.approx(expected)


def make_multiclass():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1, 1, 1], 600)
    label = np.array([rng.choice(3, p=row) for row in scores])
    return label, scores, rng.choice(np.array(["x", "y"], object), 600)


@pytest.mark.parametrize("kind", ["columns", "lists", "matrix", "names"])
def test_multiclass(kind):
    label, scores, group = make_multiclass()
    names = ["cat", "dog", "bird"]
    if kind == "columns":
        columns = {"label": label, "group": group, "a": scores[:, 0], "b": scores[:, 1]}
        columns["c"] = scores[:, 2]
        result = evaluate(
            columns, label="label", prediction=["a", "b", "c"], slices=["group"], classes=names
        )
    elif kind == "lists":
        frame = pa.table({"label": label, "group": group, "p": list(scores)})
        result = evaluate(frame, label="label", prediction="p", slices=["group"], classes=names)
    elif kind == "matrix":
        frame = {"label": label, "group": group}
        result = evaluate(frame, label="label", prediction=scores, slices=["group"], classes=names)
    else:
        frame = {"label": np.array(names, object)[label], "group": group}
        result = evaluate(frame, label="label", prediction=scores, slices=["group"], classes=names)
    predicted = scores.argmax(axis=1)
    assert result.get("accuracy") == pytest.approx((predicted == label).mean())
    expected = (predicted[label == 1] == 1).mean()
    assert result.get("recall", output="dog") == pytest.approx(expected)
    assert "output" in result.columns


def test_regression_is_inferred():
    frame = {"y": np.arange(50.0), "p": np.arange(50.0) + 1}
    result = evaluate(frame, label="y", prediction="p")
    assert result.get("mean_error") == pytest.approx(1)
    assert "output" not in result.columns


def test_positive_label():
    text = np.where(COLUMNS["label"] == 1, "yes", "no").astype(object)
    frame = {**COLUMNS, "label": text}
    result = evaluate(frame, label="label", prediction="score", positive_label="yes")
    assert result.get("recall", threshold=0.5) == pytest.approx(expected_recall())
    with pytest.raises(UsageError, match="the labels are text; give positive_label"):
        evaluate(frame, label="label", prediction="score")


def test_boolean_labels():
    frame = {**COLUMNS, "label": COLUMNS["label"].astype(bool)}
    result = evaluate(frame, label="label", prediction="score")
    assert result.get("recall", threshold=0.5) == pytest.approx(expected_recall())


def test_missing_values_are_reported():
    frame = pd.DataFrame(COLUMNS)
    frame.loc[:3, "score"] = np.nan
    frame.loc[10:14, "label"] = np.nan
    frame.loc[20:40, "sex"] = None
    result = evaluate(frame, **ARGUMENTS)
    assert result.warnings == (
        "4 rows have a prediction that is NaN or infinite; they were left out.",
        "5 rows have a missing label; they were left out.",
    )
    counted = result.get("example_count", "sex:F") + result.get("example_count", "sex:M")
    assert counted == len(frame) - 9 - 21


def test_logits_are_reported():
    frame = {"label": [0, 1, 1, 0], "score": [-3.0, 2.0, 5.0, 0.1]}
    result = evaluate(frame, label="label", prediction="score", intervals="none")
    assert "outside 0 to 1" in result.warnings[0]
    assert result.get("auc") == 1


def test_minimum_slice_size():
    size = int((COLUMNS["sex"] == "F").sum()) + 1
    result = evaluate(COLUMNS, **ARGUMENTS, min_slice_size=size)
    assert result.omitted[0] in ("sex:F", "filter:age > 60")
    assert "sex:F" not in result.slices


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "labl"}, 'no column "labl"; did you mean "label"'),
        ({"slices": ["sexx"]}, 'no column "sexx"; did you mean "sex"'),
        ({"slices": ["height > 3"]}, 'no column "height"'),
        ({"prediction": "sex"}, '"sex" is'),
        ({"prediction": COLUMNS["sex"]}, '"prediction" is'),
        ({"prediction": ["a"] * 3000}, "no column|is text"),
        ({"weight": "sex"}, "weights must be numbers"),
        ({"thresholds": [2]}, "thresholds must be between 0 and 1, not 2"),
        ({"intervals": "delta"}, 'unknown interval method "delta"'),
        ({"where": "age > 1000"}, "no rows"),
        ({"label": np.zeros(3)}, "the data has 3,000 rows, but label has 3"),
    ],
)
def test_invalid_arguments_are_one_sentence(change, message):
    with pytest.raises(UsageError, match=message):
        evaluate(COLUMNS, **{**ARGUMENTS, **change})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (3, "cannot read int; pass a pandas"),
        ("missing.parquet", 'no file "missing.parquet"'),
        ("*.missing", "no file matches"),
        (np.zeros((3, 2)), "needs named fields"),
        ({"label": [1, 0], "score": [0.5]}, "different lengths"),
        ({"label": [], "score": []}, "the data has no rows"),
    ],
)
def test_invalid_data_is_one_sentence(data, message):
    with pytest.raises(UsageError, match=message):
        evaluate(data, label="label", prediction="score")


def test_half_written_parquet(tmp_path):
    (path,) = write_parquet(tmp_path)
    content = (tmp_path / "part0.parquet").read_bytes()
    (tmp_path / "part0.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(FormatError, match=r"cannot read .* as Parquet"):
        evaluate(path, **ARGUMENTS)


def test_parquet_files_with_different_columns(tmp_path):
    paths = write_parquet(tmp_path)
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"label": [1], "score": [0.5]}), other)
    with pytest.raises(UsageError, match='has no column "sex"'):
        evaluate([*paths, str(other)], **ARGUMENTS)


def test_markdown_report():
    result = evaluate({**COLUMNS, "a|b": COLUMNS["sex"]}, **{**ARGUMENTS, "slices": ["a|b"]})
    text = result.to_markdown(baseline="a|b:M")
    assert "| Slice | Rows | accuracy@0.5" in text
    assert "a\\|b:F" in text
    assert "Intervals: 95%, delete-a-group jackknife." in text
    with pytest.raises(UsageError, match='no metric "nothing"'):
        result.to_markdown(metrics=["nothing"])


def test_markdown_report_of_many_and_small_slices():
    frame = {**COLUMNS, "id": np.arange(len(COLUMNS["label"])) // 10}
    result = evaluate(frame, **{**ARGUMENTS, "slices": ["id"]}, min_slice_size=10,
                      intervals="none", where="age > 20")  # fmt: skip
    text = result.to_markdown(metrics=["recall"])
    shown = text.count("\n| id:")
    assert shown < len(result.slices) - 1
    assert f"The {shown + 1} largest of {len(result.slices)} slices are shown." in text
    assert f"{len(result.omitted)} slices below the minimum size were left out." in text
    assert "Intervals:" not in text and "(small)" in text


def test_package_attribute():
    assert tracklight.fairness.evaluate is evaluate


def test_evaluation_does_not_load_index_or_server():
    program = (
        "import sys, tracklight.fairness; "
        "print([name for name in sys.modules if name.startswith("
        "('tracklight.index', 'tracklight.server', 'tracklight.reader', 'pandas', 'pyarrow'))])"
    )
    output = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert output.strip() == "[]"


def test_two_scores_of_a_binary_model():
    both = np.stack([1 - COLUMNS["score"], COLUMNS["score"]], axis=1)
    people = {"sex": COLUMNS["sex"]}
    result = evaluate(people, label=COLUMNS["label"], prediction=both)
    assert result.stored.task == "binary"
    assert result.get("recall", threshold=0.5) == pytest.approx(expected_recall())
    two = evaluate(people, label=COLUMNS["label"], prediction=both, task="multiclass")
    assert two.stored.task == "multiclass"


def test_labels_with_none():
    frame = {"label": [1, 0, None, 1], "score": [0.9, 0.2, 0.5, 0.4]}
    result = evaluate(frame, label="label", prediction="score", intervals="none")
    assert result.get("recall", threshold=0.5) == 0.5
    assert result.get("example_count") == 3


def test_multiclass_scores_with_nan():
    label, scores, group = make_multiclass()
    scores = scores.copy()
    scores[0, 1] = np.nan
    result = evaluate({"group": group}, label=label, prediction=scores)
    assert result.get("example_count") == len(label) - 1
    assert np.isfinite(result.get("auc", output="macro"))


MISSING = {
    "label": [True, None, False, True],
    "score": [0.9, 0.8, 0.2, 0.4],
    "flag": [True, False, None, False],
    "number": [1, 2, 1, None],
    "time": [dt.datetime(2020, 1, 2), None, dt.datetime(2020, 1, 2), dt.datetime(2021, 1, 1, 5)],
    "price": [Decimal("1.5"), None, Decimal("2"), Decimal("1.5")],
    "nothing": [None] * 4,
}


def write_missing(tmp_path):
    pq.write_table(pa.table(MISSING), tmp_path / "missing.parquet")
    return tmp_path / "missing.parquet"


@pytest.mark.parametrize(
    "make",
    [
        lambda tmp: MISSING,
        lambda tmp: pd.DataFrame(MISSING),
        lambda tmp: pd.DataFrame(MISSING).convert_dtypes(),
        lambda tmp: pl.DataFrame(MISSING),
        lambda tmp: pa.table(MISSING),
        write_missing,
    ],
    ids=["lists", "pandas", "pandas nullable", "polars", "arrow", "parquet"],
)
@pytest.mark.parametrize("chunk_rows", [1, 100])
def test_missing_values_are_the_same_in_every_kind_of_table(
    make, chunk_rows, tmp_path, monkeypatch
):
    monkeypatch.setattr(data_module, "CHUNK_ROWS", chunk_rows)
    slices = ["flag", "number", "time", "price", "nothing", "flag = true", "time is null"]
    result = evaluate(
        make(tmp_path), label="label", prediction="score", slices=slices, intervals="none"
    )
    assert result.get("recall", threshold=0.5) == 0.5  # without the row that has no label
    counts = {name: result.get("example_count", name) for name in result.slices}
    assert counts == {
        "Overall": 3,
        "flag:True": 1,
        "flag:False": 1,
        "number:1": 2,
        "time:2020-01-02 00:00:00": 2,
        "time:2021-01-01 05:00:00": 1,
        "price:1.5": 2,
        "price:2": 1,
        "filter:flag = true": 1,
    }


def test_times_in_nanoseconds_have_readable_slices():
    times = np.array(["2020-01-02", "2020-01-02", "NaT"], "M8[ns]")
    frame = {"label": [0, 1, 1], "score": [0.1, 0.9, 0.8], "time": times}
    for data in (frame, pd.DataFrame(frame), pa.table(frame)):
        result = evaluate(
            data, label="label", prediction="score", slices=["time"], intervals="none"
        )
        assert result.slices == ["Overall", "time:2020-01-02 00:00:00"]


def test_objects_that_convert_to_pandas():
    class Frame:
        def to_pandas(self):
            return pd.DataFrame(COLUMNS)

    result = evaluate(Frame(), label="label", prediction="score")
    assert result.get("recall", threshold=0.5) == pytest.approx(expected_recall())


RAGGED = [[0.1, 0.9], [0.5], [0.2, 0.5, 0.3], [0.7, 0.3]]
"""On average, a row has two scores, as the first, the middle and the last row."""


@pytest.mark.parametrize(
    "make",
    [dict, pd.DataFrame, pl.DataFrame, pa.table],
    ids=["lists", "pandas", "polars", "arrow"],
)
@pytest.mark.parametrize(
    "scores", [[RAGGED[0], RAGGED[1], RAGGED[3], RAGGED[2], RAGGED[0]], [[0.5, 0.5], None, [1, 0]]]
)
def test_scores_of_different_lengths(make, scores):
    data = make({"label": [0, 1, 0, 1, 1][: len(scores)], "p": scores})
    with pytest.raises(UsageError, match='"p" is not numeric; predictions are numbers or lists'):
        evaluate(data, label="label", prediction="p")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_lists_of_scores(make):
    label, scores, _ = make_multiclass()
    result = evaluate(
        make({"label": label, "p": scores.tolist()}), label="label", prediction="p",
        intervals="none",
    )  # fmt: skip
    assert result.get("accuracy") == pytest.approx((scores.argmax(axis=1) == label).mean())


def test_categories_are_restricted_by_a_filter():
    frame = pd.DataFrame(COLUMNS).astype({"sex": "category"})
    result = evaluate(frame, **ARGUMENTS, where="age >= 50")
    expected = ((COLUMNS["sex"] == "F") & (COLUMNS["age"] >= 50)).sum()
    assert result.get("example_count", "sex:F") == expected


@pytest.mark.parametrize("positive", [1, True, 1.0, "1"])
@pytest.mark.parametrize("dtype", [bool, np.int64, np.float64, object])
def test_positive_label_of_numbers(positive, dtype):
    label = COLUMNS["label"].astype(dtype)
    result = evaluate(
        {**COLUMNS, "label": label}, label="label", prediction="score", positive_label=positive
    )
    assert result.get("recall", threshold=0.5) == pytest.approx(expected_recall())
    nullable = pd.DataFrame({**COLUMNS, "label": label}).assign(
        label=lambda frame: frame["label"].astype(float).astype("boolean").mask(frame.index == 0)
    )
    result = evaluate(nullable, label="label", prediction="score", positive_label=positive)
    mask = np.arange(len(label)) > 0
    assert result.get("recall", threshold=0.5) == pytest.approx(expected_recall(mask))
    other = evaluate(
        {**COLUMNS, "label": 1 - COLUMNS["label"]}, label="label", prediction="score",
        positive_label=0, intervals="none",
    )  # fmt: skip
    assert other.get("recall", threshold=0.5) == pytest.approx(expected_recall())


def test_positive_label_with_missing_labels():
    frame = {"label": [2.0, 1.0, np.nan, 2.0], "score": [0.9, 0.2, 0.5, 0.4]}
    result = evaluate(frame, label="label", prediction="score", positive_label=2)
    assert result.get("recall", threshold=0.5) == 0.5
    assert result.get("example_count") == 3


def test_class_names_that_are_numbers():
    label, scores, _ = make_multiclass()
    frame = {"label": np.array([10, 20, 30])[label]}
    result = evaluate(frame, label="label", prediction=scores, classes=[10, 20, 30])
    assert result.get("accuracy") == pytest.approx((scores.argmax(axis=1) == label).mean())
    with pytest.raises(UsageError, match='the label "cat" is not among the classes'):
        evaluate({"label": np.array(["cat", "x", "y"])[label]}, label="label", prediction=scores,
                 classes=["x", "y", "z"])  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prediction": np.zeros((3, 3)), "task": "binary"}, "a binary model has one score for"),
        ({"label": np.array(["a", "b", "c"])}, "the labels are text; give positive_label"),
        (
            {"label": np.array(["a", "b", "c"]), "prediction": np.zeros((3, 2))},
            "the labels are text; give positive_label",
        ),
        ({"slices": [SliceSpec("city", buckets={"city": Buckets(quantiles=2)})]},
         'column "city" is not numeric, so it has no buckets'),
    ],
)  # fmt: skip
def test_values_of_wrong_types_are_one_sentence(options, message):
    frame = {"label": [0, 1, 1], "score": [0.1, 0.2, 0.3], "city": ["a", "b", "c"]}
    with pytest.raises(UsageError, match=message):
        evaluate(frame, **{"label": "label", "prediction": "score", **options})


def test_a_tag_must_not_be_empty():
    result = evaluate(COLUMNS, label="label", prediction="score", intervals="none")
    with pytest.raises(UsageError, match="the tag must not be empty"):
        result.to_summary(tag="")


def test_an_empty_folder(tmp_path):
    with pytest.raises(UsageError, match="no Parquet file in"):
        evaluate(tmp_path, label="label", prediction="score")


def test_differences_are_also_matrices():
    result = evaluate(COLUMNS, **ARGUMENTS, thresholds=[0.5], metrics=["recall"])
    difference = result.difference(baseline="sex:M")
    frame = difference.to_pandas()
    assert difference.differences.absolute.ravel().tolist() == frame["difference"].tolist()
