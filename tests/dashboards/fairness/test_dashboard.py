"""The routes of the Fairness dashboard, on real logs."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tests.fairness.test_evaluate import COLUMNS
from tests.index import logs
from tracklight.dashboards.fairness import Fairness
from tracklight.errors import FormatError, LogError, UsageError
from tracklight.fairness import evaluate
from tracklight.formats import summary, tfrecord
from tracklight.logdir.access import parse_roots

TFMA = Path(__file__).parents[2] / "analysis" / "fairness" / "data"


def write_runs(logdir: Path, steps: int = 3) -> list:
    results = []
    for step in range(steps):
        changed = {**COLUMNS, "score": np.clip(COLUMNS["score"] + 0.02 * step, 0, 1)}
        result = evaluate(
            changed, label="label", prediction="score", slices=["sex", "age > 60"], model="m"
        )
        result.write(logdir / "train", step=step)
        results.append(result)
    return results


def write_path(logdir: Path, path: str, run: str = "train") -> None:
    """Write the summary of Fairness Indicators, which holds only a path."""
    metadata = summary.make_metadata("fairness_indicators")
    value = summary.tensor("fairness_indicators", np.array(path.encode(), object), metadata)
    logs.write(logdir, run, tfrecord.encode_record(summary.encode_event(1.7e9, 5, [value])))


class Client:
    def __init__(self, context) -> None:
        self.dashboard = Fairness(context)
        self.routes = {(it.path, it.method): it for it in self.dashboard.routes()}

    def __call__(self, path: str, method: str = "POST", /, **fields: object):
        route = self.routes[path, method]
        return route.handler(msgspec.convert(fields, route.request_type))

    def list(self, kind: str | None = None):
        rows = self("evaluations").evaluations
        return [row for row in rows if kind is None or row.kind == kind]


def test_replicates_are_sent_on_request(tmp_path, open_log):
    (result,) = write_runs(tmp_path, 1)
    client = Client(open_log(tmp_path))
    (row,) = client.list()
    assert client("result", id=row.id).replicates is None
    response = client("result", id=row.id, replicates=True)
    expected = result.evaluation.replicates.ravel()
    # They are stored in 32 bits, as differences to the value.
    np.testing.assert_allclose(response.replicates, expected, atol=1e-6)


def test_logged_evaluations(tmp_path, open_log):
    results = write_runs(tmp_path)
    client = Client(open_log(tmp_path))
    rows = client.list()
    assert [(row.run, row.tag, row.step, row.kind) for row in rows] == [
        ("train", "fairness", step, "logged") for step in range(3)
    ]
    response = client("result", id=rows[-1].id)
    expected = results[-1].evaluation
    assert response.slices == expected.slice_names
    assert response.model == "m"
    np.testing.assert_array_equal(response.value.reshape(expected.value.shape), expected.value)
    np.testing.assert_array_equal(response.lower.reshape(expected.value.shape), expected.lower)
    assert response.columns[0].direction == "higher"
    assert response.has_replicates
    some = client("result", id=rows[-1].id, columns=[1, 0])
    np.testing.assert_array_equal(some.value.reshape(-1, 2), expected.value[:, [1, 0]])


def test_difference_to_a_baseline_slice(tmp_path, open_log):
    result = write_runs(tmp_path, 1)[0]
    client = Client(open_log(tmp_path))
    (row,) = client.list()
    response = client("difference", id=row.id, baseline="sex:M", columns=[0, 3])
    expected = result.evaluation.select(columns=[0, 3]).difference("sex:M")
    shape = expected.absolute.shape
    np.testing.assert_allclose(response.difference.reshape(shape), expected.absolute)
    np.testing.assert_allclose(response.lower.reshape(shape), expected.lower, atol=1e-6)
    assert response.columns == [0, 3]
    sizes = [abs(gap.difference) for gap in response.gaps if not gap.significant]
    assert sizes == sorted(sizes, reverse=True)
    assert response.comparisons == 3 * 2


def test_two_evaluations_are_compared_slice_by_slice(tmp_path, open_log):
    first, _, last = write_runs(tmp_path)
    client = Client(open_log(tmp_path))
    rows = client.list()
    response = client("difference", id=rows[-1].id, other=rows[0].id)
    shape = last.evaluation.value.shape
    expected = last.evaluation.value - first.evaluation.value
    np.testing.assert_allclose(response.difference.reshape(shape), expected)
    np.testing.assert_allclose(response.baseline_value.reshape(shape), first.evaluation.value)


def test_history_over_steps(tmp_path, open_log):
    results = write_runs(tmp_path)
    client = Client(open_log(tmp_path))
    response = client(
        "history",
        run="train",
        tag="fairness",
        metric="recall",
        threshold=0.5,
        slices=["sex:F", "unknown"],
    )
    assert response.steps.tolist() == [0, 1, 2]
    expected = [result.get("recall", "sex:F", threshold=0.5) for result in results]
    np.testing.assert_allclose(response.series[0].value, expected)
    assert (response.series[0].lower < response.series[0].value).all()
    assert np.isnan(response.series[1].value).all()
    missing = client("history", run="train", tag="fairness", metric="nothing", slices=["Overall"])
    assert 'No metric "nothing"' in missing.problems[0].message


def test_plots(tmp_path, open_log):
    write_runs(tmp_path, 1)
    client = Client(open_log(tmp_path))
    (row,) = client.list()
    response = client("plots", id=row.id, slices=[0, 1])
    assert [plot.slice for plot in response.plots] == [0, 1]
    plot = response.plots[0]
    assert plot.true_positive_rate[0] == 0
    assert plot.true_positive_rate[-1] == 1
    at = len(plot.roc_threshold) // 2
    positive = COLUMNS["score"] > plot.roc_threshold[at]
    assert plot.true_positive_rate[at] == pytest.approx(positive[COLUMNS["label"] == 1].mean())
    assert plot.calibration_weight.sum() == len(COLUMNS["label"])
    assert (plot.negative + plot.positive).sum() == len(COLUMNS["label"])
    with pytest.raises(UsageError, match="there is no slice 99"):
        client("plots", id=row.id, slices=[99])


def test_evaluation_folder_below_the_log_directory(tmp_path, open_log):
    shutil.copytree(TFMA / "tfrecord", tmp_path / "model" / "evaluation")
    client = Client(open_log(tmp_path))
    (row,) = client.list()
    assert (row.run, row.tag, row.kind, row.step) == (
        "model/evaluation",
        "evaluation",
        "folder",
        None,
    )
    response = client("result", id=row.id)
    assert [(model.name, model.is_baseline) for model in response.models] == [
        ("candidate", False),
        ("baseline", True),
    ]
    assert response.validation.ok is False
    assert response.omitted == ["group:d"]
    assert client("result", id=row.id, model="baseline").validation is None
    compared = client("difference", id=row.id, other=row.id, other_model="baseline")
    assert np.isfinite(compared.difference).any()
    with pytest.raises(UsageError, match='no model "other"'):
        client("result", id=row.id, model="other")


def test_common_file_names_are_no_evaluation(tmp_path, open_log):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "eval_config.json").write_text("{}")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "metrics.parquet").write_bytes(b"PAR1")
    assert Client(open_log(tmp_path)).list() == []


@pytest.mark.parametrize("relative", [False, True])
def test_path_in_an_event_file(tmp_path, open_log, relative):
    shutil.copytree(TFMA / "tfrecord", tmp_path / "train" / "evaluation")
    write_path(tmp_path, "evaluation" if relative else str(tmp_path / "train" / "evaluation"))
    client = Client(open_log(tmp_path))
    (row,) = client.list("summary")
    assert (row.run, row.step) == ("train", 5)
    assert client("result", id=row.id).model == "candidate"


@pytest.mark.parametrize("path", ["/etc", "../../..", str(TFMA / "tfrecord"), "a\0b", ""])
def test_path_outside_the_log_directory_is_refused(tmp_path, open_log, path):
    logdir = tmp_path / "logs"
    write_path(logdir, path)
    client = Client(open_log(logdir))
    (row,) = client.list()
    with pytest.raises((LogError, FormatError), match=r"outside the log directory|no path"):
        client("result", id=row.id)


def test_link_to_a_folder_outside_is_refused(tmp_path, open_log):
    logdir = tmp_path / "logs"
    write_path(logdir, "link")
    (logdir / "train" / "link").symlink_to(TFMA / "tfrecord")
    client = Client(open_log(logdir))
    (row,) = client.list("summary")
    with pytest.raises(LogError, match="outside the log directory"):
        client("result", id=row.id)


def test_moved_folder_is_shown_from_the_cache(tmp_path):
    from tracklight.index.catalog import Catalog
    from tracklight.plugin import Context
    from tracklight.server import responses

    logdir = tmp_path / "logs"
    folder = logdir / "train" / "evaluation"
    shutil.copytree(TFMA / "tfrecord", folder)
    write_path(logdir, "evaluation")
    values = []
    for moved in (False, True):
        if moved:
            shutil.rmtree(folder)
        catalog = Catalog(parse_roots(str(logdir)), cache=tmp_path / "cache")
        catalog.refresh()
        context = Context(catalog, tuple, lambda tag: (), lambda: "1", responses.describe_error)
        client = Client(context)
        (row,) = client.list("summary")
        response = client("result", id=row.id)
        values.append(response.value)
        catalog.close()
    np.testing.assert_array_equal(*values)
    assert "this is a copy from the cache" in response.problems[0].text
    assert response.validation is not None


def test_path_of_the_run_in_the_log_directory(tmp_path, open_log):
    shutil.copytree(TFMA / "multiclass", tmp_path / "evaluation")
    write_path(tmp_path, "evaluation", run=".")
    client = Client(open_log(tmp_path))
    (row,) = client.list("summary")
    assert client("result", id=row.id).task == "multiclass"


@pytest.mark.parametrize("plugin", ["tracklight_fairness", "fairness_indicators"])
def test_numbers_are_no_evaluation(tmp_path, open_log, plugin):
    value = summary.tensor("loss", np.array([1.0, 2.0]), summary.make_metadata(plugin))
    logs.write(tmp_path, "run", tfrecord.encode_record(summary.encode_event(1.7e9, 0, [value])))
    client = Client(open_log(tmp_path))
    (row,) = client.list()
    with pytest.raises(FormatError, match='"loss" is no evaluation'):
        client("result", id=row.id)


def test_damaged_value(tmp_path, open_log):
    metadata = summary.make_metadata("tracklight_fairness")
    value = summary.tensor("fairness", np.array([b"{}", b"x"], object), metadata)
    logs.write(tmp_path, "run", tfrecord.encode_record(summary.encode_event(1.7e9, 0, [value])))
    client = Client(open_log(tmp_path))
    (row,) = client.list()
    with pytest.raises(FormatError, match="header of the evaluation is invalid"):
        client("result", id=row.id)


def test_unknown_evaluation(tmp_path, open_log):
    with pytest.raises(LogError, match="no longer has this evaluation"):
        Client(open_log(tmp_path))("result", id="nothing")


def test_exports(tmp_path, open_log):
    result = write_runs(tmp_path, 1)[0]
    client = Client(open_log(tmp_path))
    (row,) = client.list()
    blob = client("export", "GET", id=row.id, format="csv", baseline="sex:M")
    rows = list(csv.DictReader(io.StringIO(blob.content.decode())))
    found = next(
        item
        for item in rows
        if (item["slice"], item["metric"], item["threshold"]) == ("sex:F", "recall", "0.5")
    )
    value = result.get("recall", "sex:F", threshold=0.5)
    assert float(found["value"]) == value
    assert float(found["difference"]) == pytest.approx(
        value - result.get("recall", "sex:M", threshold=0.5)
    )
    blob = client("export", "GET", id=row.id, format="json")
    assert len(json.loads(blob.content)) == len(rows)
    blob = client("export", "GET", id=row.id, format="markdown")
    assert b"## Performance by group" in blob.content
    assert blob.filename == "fairness_m.md"


def test_static_export(tmp_path, open_log):
    write_runs(tmp_path, 2)
    shutil.copytree(TFMA / "multiclass", tmp_path / "evaluation")
    client = Client(open_log(tmp_path))
    parts = dict(client.dashboard.export_static(["train"]))
    rows = parts["evaluations"].evaluations
    assert len(rows) == 3
    for row in rows:
        assert parts[f"result?id={row.id}"].id == row.id
        assert f"plots?id={row.id}" in parts
        # The page computes differences from the replicates.
        result = parts[f"result?id={row.id}"]
        assert (result.replicates is not None) == result.has_replicates
        assert f"difference?id={row.id}" not in parts


def test_static_export_without_space_for_replicates(tmp_path, open_log, monkeypatch):
    (result,) = write_runs(tmp_path, 1)
    replicates = result.evaluation.replicates.size
    monkeypatch.setattr("tracklight.dashboards.fairness._MAX_EXPORTED_REPLICATES", 10)
    client = Client(open_log(tmp_path))
    parts = dict(client.dashboard.export_static(["train"]))
    (row,) = parts["evaluations"].evaluations
    assert replicates > 10
    assert parts[f"result?id={row.id}"].replicates is None
    difference = parts[f"difference?id={row.id}"]
    assert difference.slices == parts[f"result?id={row.id}"].slices
    assert len(difference.columns) == len(parts[f"result?id={row.id}"].columns)


def test_five_thousand_slices_are_served_at_once(tmp_path, open_log):
    rng = np.random.default_rng(0)
    rows = 50_000
    frame = {
        "label": rng.integers(0, 2, rows),
        "score": rng.random(rows),
        "id": np.arange(rows) % 5000,
    }
    evaluate(frame, label="label", prediction="score", slices=["id"]).write(tmp_path / "run")
    client = Client(open_log(tmp_path))
    (row,) = client.list()
    response = client("result", id=row.id, columns=[0, 1, 2])
    assert len(response.slices) == 5001
    assert len(response.value) == 5001 * 3


def write_parquet(path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({name: list(column) for name, column in COLUMNS.items()}), path)
    return path


def test_rows_of_a_slice_are_found_in_the_file_that_was_evaluated(tmp_path, open_log):
    file = write_parquet(tmp_path / "logs" / "data" / "people.parquet")
    result = evaluate(file, label="label", prediction="score", slices=["sex", "age > 60"])
    result.write(tmp_path / "logs" / "train")
    client = Client(open_log(tmp_path / "logs"))
    (row,) = client.list()
    response = client("datapoints", "GET", id=row.id, slice="filter:age > 60")
    assert response.problem is None
    assert (response.path, response.label) == (str(file), "label")
    assert response.prediction == ["score"]
    (condition,) = response.conditions
    assert condition.column == "age"
    assert 60 < condition.low < 60.001
    file.unlink()
    response = client("datapoints", "GET", id=row.id)
    assert str(response.problem) == f'What-If cannot show the rows: no file "{file}".'


def test_rows_that_cannot_be_shown(tmp_path, open_log):
    file = write_parquet(tmp_path / "elsewhere" / "people.parquet")
    slices = ["sex", "age > 60 or sex = 'm'"]
    inside = write_parquet(tmp_path / "logs" / "people.parquet")
    for step, path in enumerate([file, COLUMNS, inside]):
        result = evaluate(path, label="label", prediction="score", slices=slices)
        result.write(tmp_path / "logs" / "train", step=step)
    client = Client(open_log(tmp_path / "logs"))
    outside, unknown, found = client.list()
    problem = client("datapoints", "GET", id=outside.id).problem
    assert problem.code == "fairness.no_data"
    assert "--data-dir" in str(problem)
    assert client("datapoints", "GET", id=unknown.id).problem.code == "fairness.no_data_path"
    response = client("datapoints", "GET", id=found.id, slice="filter:age > 60 or sex = 'm'")
    assert response.problem.code == "fairness.no_conditions"
    assert client("datapoints", "GET", id=found.id).problem is None


def test_a_file_can_be_named_when_writing(tmp_path, open_log):
    file = tmp_path / "logs" / "people.csv"
    file.parent.mkdir()
    file.write_text("label,score,sex\n1,0.5,f\n", "utf-8")
    result = evaluate(COLUMNS, label="label", prediction="score", slices=["sex"])
    result.write(tmp_path / "logs" / "train", data_path=file)
    client = Client(open_log(tmp_path / "logs"))
    (row,) = client.list()
    response = client("datapoints", "GET", id=row.id, slice="sex:F")
    assert response.problem is None
    assert response.path == str(file)


def test_rows_of_tfma_have_no_predictions(tmp_path, open_log):
    shutil.copytree(TFMA / "tfrecord", tmp_path / "tfma")
    client = Client(open_log(tmp_path))
    (row,) = client.list("folder")
    response = client("datapoints", "GET", id=row.id)
    assert response.prediction == []
    assert response.problem is not None


def test_texts_that_spreadsheets_would_run_are_quoted(tmp_path, open_log):
    people = {**COLUMNS, "=1+1": COLUMNS["sex"]}
    result = evaluate(people, label="label", prediction="score", slices=[["=1+1"]], metrics=["auc"])
    result.write(tmp_path / "train")
    client = Client(open_log(tmp_path))
    (row,) = client.list()
    blob = client("export", "GET", id=row.id, format="csv")
    names = [each["slice"] for each in csv.DictReader(io.StringIO(blob.content.decode()))]
    assert sorted(names) == ["'=1+1:F", "'=1+1:M", "Overall"]


def test_wrong_positions_and_evaluations_without_a_common_slice(tmp_path, open_log):
    write_runs(tmp_path, 1)
    frame = {"y": [1.0, 2.0], "p": [1.5, 2.5]}
    other = evaluate(frame, label="y", prediction="p", metrics=["lift"], label_range=(0, 3))
    other.write(tmp_path / "other")
    client = Client(open_log(tmp_path))
    logged = {row.run: row for row in client.list()}
    id_, regression = logged["train"].id, logged["other"].id
    for call, message in (
        (lambda: client("result", id=id_, columns=[999]), "there is no metric column 999"),
        (lambda: client("plots", id=id_, slices=[999]), "there is no slice 999"),
        (lambda: client("plots", id=id_, slices=[0], output="dog"), 'there is no output "dog"'),
        (
            lambda: client("difference", id=id_, other=regression),
            "the two evaluations have no slice and metric in common",
        ),
    ):
        with pytest.raises(UsageError) as error:
            call()
        assert str(error.value) == message
    response = client("plots", id=regression, slices=[0])
    assert (response.plots, response.missing) == ([], [0])


def test_long_histories_are_thinned_out(tmp_path, open_log, monkeypatch):
    monkeypatch.setattr("tracklight.dashboards.fairness.MAX_HISTORY_STEPS", 3)
    result = evaluate(COLUMNS, label="label", prediction="score", intervals="none")
    for step in range(6):
        result.write(tmp_path / "train", step=step)
    response = Client(open_log(tmp_path))("history", run="train", tag="fairness", metric="auc",
                                          slices=["Overall"])  # fmt: skip
    assert response.steps.tolist() == [0, 2, 5]


def test_static_export_leaves_out_damaged_evaluations(tmp_path, open_log):
    write_runs(tmp_path, 1)
    metadata = summary.make_metadata("tracklight_fairness")
    value = summary.tensor("fairness", np.array([b"{}", b"x"], object), metadata)
    logs.write(tmp_path, "bad", tfrecord.encode_record(summary.encode_event(1.7e9, 0, [value])))
    parts = dict(Client(open_log(tmp_path)).dashboard.export_static(["train", "bad"]))
    assert [row.run for row in parts["evaluations"].evaluations] == ["train"]


def test_a_damaged_cache_is_not_used(tmp_path):
    from tracklight.index.catalog import Catalog
    from tracklight.plugin import Context
    from tracklight.server import responses

    logdir = tmp_path / "logs"
    shutil.copytree(TFMA / "tfrecord", logdir / "train" / "evaluation")
    write_path(logdir, "evaluation")
    values = []
    for _ in range(2):
        catalog = Catalog(parse_roots(str(logdir)), cache=tmp_path / "cache")
        catalog.refresh()
        context = Context(catalog, tuple, lambda tag: (), lambda: "1", responses.describe_error)
        client = Client(context)
        (row,) = client.list("summary")
        values.append(client("result", id=row.id).value)
        catalog.close()
        files = [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]
        assert files
        for path in files:
            path.write_bytes(path.read_bytes()[:20])
    np.testing.assert_array_equal(*values)
