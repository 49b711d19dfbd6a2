"""Evaluation folders of TensorFlow Model Analysis.

The folders in ``data`` were written with the protobuf classes of TFMA 0.52 and the Parquet schema
of its writer; ``expected.json`` has the values, computed with NumPy.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.evaluation.helpers import make_groups
from tracklight.analysis.evaluation import metrics
from tracklight.analysis.fairness.tfma import parse_config
from tracklight.analysis.fairness.tfma_folder import read_tfma_folder
from tracklight.errors import LogError
from tracklight.formats import proto
from tracklight.formats.tfrecord import write_records
from tracklight.logdir.access import ConfinedFiles
from tracklight.logdir.discover import find_evaluation_file_kind

DATA = Path(__file__).parent / "data"


def read(folder: Path):
    return read_tfma_folder(ConfinedFiles([str(folder.parent)]), str(folder))


@pytest.mark.parametrize("kind", ["tfrecord", "parquet"])
def test_metrics_of_two_models(kind):
    candidate, baseline = read(DATA / kind)
    assert (candidate.stored.model, baseline.stored.model) == ("candidate", "baseline")
    assert (candidate.is_baseline, baseline.is_baseline) == (False, True)
    expected = json.loads((DATA / "expected.json").read_text())
    for model in (candidate, baseline):
        result = model.stored.result
        assert result.slices[0] == ()
        for name, values in expected[model.stored.model].items():
            for metric, value in values.items():
                short = metric.rpartition("/")[2]
                short, _, threshold = short.partition("@")
                short = "label_mean" if metric == "label/mean" else short
                actual = result.get_value(short, name, float(threshold) if threshold else None)
                assert actual == value
        assert result.resampling.method == "jackknife"
        assert result.resampling.samples == 20
        at = result.get_slice("group:a"), result.get_column("auc")
        assert result.upper[at] - result.lower[at] == pytest.approx(0.04)
        assert (
            result.counts[result.get_slice("group:c")]
            == expected["candidate"]["group:c"]["example_count"]
        )
        assert result.omitted == ((("group", "d"),),)
    assert candidate.stored.result.get_value("auc_diff", "group:a") == 0.01
    lift = candidate.stored.result.get_value("lift@23", "cross slice:Overall__XX__group:b")
    assert lift == -0.04
    assert candidate.stored.columns_used == {"label": "label", "prediction": "score"}


@pytest.mark.parametrize("kind", ["tfrecord", "parquet"])
def test_plots(kind):
    data = make_groups()
    stored = read(DATA / kind)[0].stored
    row = stored.plots.find_row(stored.result.get_slice("group:b"))
    curve = metrics.roc_curve(stored.plots.counts[0, row], stored.plots.edges)
    mask = data.columns["group"] == "b"
    labels, scores = data.labels[mask], data.scores[mask]
    for at in range(0, len(curve.threshold), 7):
        positive = scores > curve.threshold[at]
        assert curve.true_positive_rate[at] == pytest.approx(positive[labels == 1].mean())
        assert curve.false_positive_rate[at] == pytest.approx(positive[labels == 0].mean())
    calibration = metrics.calibration_curve(stored.plots.calibration[0, row])
    inside = (scores >= 0.3) & (scores < 0.4)
    assert calibration.weight[3] == inside.sum()
    assert calibration.positive_share[3] == pytest.approx(labels[inside].mean())


@pytest.mark.parametrize("kind", ["tfrecord", "parquet"])
def test_validation_and_attributions(kind):
    candidate, baseline = read(DATA / kind)
    validation = candidate.validation
    assert not validation.is_ok
    first, second = validation.failures
    assert (first.slice, first.metric) == ("group:c", "false_positive_rate@0.5")
    assert (first.value, first.bounds) == (0.4, "<= 0.2")
    assert (second.slice, second.metric, second.bounds) == ("Overall", "auc_diff", "change >= 0.02")
    assert validation.missing_slices == ["region"]
    assert validation.checked_slices == 4
    assert baseline.validation is None
    values = {(item.slice, item.feature): item.value for item in candidate.attributions}
    assert values["group:a", "income"] == -0.5
    assert len(values) == 8


def test_multiclass():
    (model,) = read(DATA / "multiclass")
    result = model.stored.result
    assert model.stored.task == "multiclass"
    assert result.get_value("auc", output="1") == pytest.approx(0.8)
    assert result.get_value("auc", output="macro") == 0.8
    assert np.isnan(result.lower).all()
    confusion = model.stored.plots.confusion[0]
    np.testing.assert_array_equal(confusion, [[8, 2, 0], [0, 10, 0], [1, 0, 9]])


def test_half_written_file_keeps_what_can_be_read(tmp_path):
    folder = tmp_path / "evaluation"
    shutil.copytree(DATA / "tfrecord", folder)
    path = folder / "metrics-00000-of-00002.tfrecord"
    path.write_bytes(path.read_bytes()[:-20])
    candidate = read(folder)[0]
    assert "is truncated" in str(candidate.problems[0])
    assert str(candidate.problems[0]).startswith("metrics-00000-of-00002.tfrecord: ")
    assert candidate.stored.result.find_slice("Overall") is not None


@pytest.mark.parametrize("suffix", ["tfrecord", "parquet"])
def test_folder_without_readable_metrics(tmp_path, suffix):
    folder = tmp_path / "evaluation"
    shutil.copytree(DATA / suffix, folder)
    for path in folder.glob("metrics*"):
        path.write_bytes(path.read_bytes()[:30])
    with pytest.raises(LogError, match="no evaluation could be read"):
        read(folder)


def test_damaged_configuration_is_a_problem(tmp_path):
    folder = tmp_path / "evaluation"
    shutil.copytree(DATA / "tfrecord", folder)
    (folder / "eval_config.json").write_text('{"evalConfig": {')
    models = read(folder)
    assert "eval_config.json is invalid or incomplete" in str(models[0].problems[0])
    assert len(models) == 2


def test_files_without_suffix(tmp_path):
    folder = tmp_path / "evaluation"
    folder.mkdir()
    shutil.copy(DATA / "multiclass" / "metrics-00000-of-00001.tfrecord", folder / "metrics")
    (model,) = read(folder)
    assert model.stored.result.counts.tolist() == [30]


def test_folder_outside_the_log_directory(tmp_path):
    with pytest.raises(LogError, match="is outside the log directory"):
        read_tfma_folder(ConfinedFiles([str(tmp_path)]), str(DATA / "tfrecord"))


def test_missing_and_empty_folders(tmp_path):
    files = ConfinedFiles([str(tmp_path)])
    with pytest.raises(LogError):
        read_tfma_folder(files, str(tmp_path / "missing"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(LogError, match="no evaluation in"):
        read_tfma_folder(files, str(tmp_path / "empty"))


def test_random_bytes_are_one_sentence(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "evaluation"
    folder.mkdir()
    for seed in range(20):
        (folder / "metrics.tfrecord").write_bytes(rng.bytes(10 + 50 * seed))
        with pytest.raises(LogError):
            read(folder)


def test_file_names():
    assert find_evaluation_file_kind("metrics-00000-of-00003.parquet") == "metrics"
    assert find_evaluation_file_kind("validations.tfrecord") == "validations"
    assert find_evaluation_file_kind("plots") == "plots"
    assert find_evaluation_file_kind("metrics.csv") is None


def test_config_of_unexpected_types():
    config = parse_config(b'{"evalConfig": {"modelSpecs": [1, {"name": 3}], "options": []}}')
    assert [model.name for model in config.models] == [""]
    assert config.min_slice_size == 1


def write_folder(folder: Path, metrics, plots=()):
    folder.mkdir()
    for kind, messages in (("metrics", metrics), ("plots", plots)):
        with (folder / f"{kind}.tfrecord").open("wb") as file:
            write_records(file, [message.SerializeToString() for message in messages])


def make_metrics(slice_=(), **values):
    message = proto.TfmaMetricsForSlice()
    for name, value in slice_:
        message.slice_key.single_slice_keys.add(column=name, bytes_value=value)
    for name, value in values.items():
        item = message.metric_keys_and_values.add()
        item.key.name = name.encode()
        if isinstance(value, bytes):
            item.value.debug_message = value
        else:
            item.value.double_value.value = value
    return message


def test_problems_of_single_metrics_are_warnings(tmp_path):
    slice_ = [(b"sex", b"f")]
    messages = [make_metrics(auc=0.5), make_metrics(slice_, auc=0.25, loss=b"too few examples")]
    write_folder(tmp_path / "evaluation", messages)
    (model,) = read(tmp_path / "evaluation")
    assert list(map(str, model.stored.result.warnings)) == ["sex:f: too few examples"]
    assert model.stored.result.get_value("auc", "sex:f") == 0.25
    assert model.stored.result.counts.tolist() == [0, 0]  # TFMA was run without counts


def test_weighted_and_unweighted_metrics_are_told_apart(tmp_path):
    message = proto.TfmaMetricsForSlice()
    for name, is_weighted, value in (
        (b"binary_accuracy", True, 0.75),
        (b"binary_accuracy", False, 0.5),
        (b"fairness_indicators_metrics/false_positive_rate@0.5", False, 0.25),
        (b"post_export_metrics/false_positive_rate@0.5", None, 0.125),
        (b"example_count", False, 7),
        (b"lift@23", None, 0.1),
    ):
        item = message.metric_keys_and_values.add()
        item.key.name = name
        if is_weighted is not None:
            item.key.example_weighted.value = is_weighted
        item.value.double_value.value = value
    write_folder(tmp_path / "evaluation", [message])
    (model,) = read(tmp_path / "evaluation")
    result = model.stored.result
    found = {(each.metric, each.threshold): result.value[0, at]
             for at, each in enumerate(result.columns)}  # fmt: skip
    assert found == {
        ("binary_accuracy (weighted)", None): 0.75,
        ("binary_accuracy (unweighted)", None): 0.5,
        ("fairness_indicators_metrics/false_positive_rate@0.5 (unweighted)", None): 0.25,
        ("post_export_metrics/false_positive_rate", 0.5): 0.125,
        ("example_count", None): 7,
        ("lift@23", None): 0.1,
    }
    assert result.counts.tolist() == [7]


def test_a_file_instead_of_a_folder(tmp_path):
    (tmp_path / "evaluation").write_bytes(b"")
    with pytest.raises(LogError, match=r'no evaluation in ".*evaluation"'):
        read(tmp_path / "evaluation")


def test_plots_with_thresholds_of_their_own_are_left_out(tmp_path):
    """Most plots have the same thresholds; calibration does not depend on them."""
    plots = []
    for name, thresholds in ((b"a", (0.0, 0.5)), (b"b", (0.0, 0.25)), (b"c", (0.0, 0.5))):
        message = proto.TfmaPlotsForSlice()
        message.slice_key.single_slice_keys.add(column=b"sex", bytes_value=name)
        value = message.plot_keys_and_values.add().value
        for threshold in thresholds:
            value.confusion_matrix_at_thresholds.matrices.add(
                threshold=threshold, true_positives=3, false_positives=1
            )
        for low, high, weight in ((0.2, 0.3, 4.0), (-2.0, -1.0, 1.0), (0.5, 0.6, np.nan)):
            bucket = value.calibration_histogram_buckets.buckets.add(
                lower_threshold_inclusive=low, upper_threshold_exclusive=high
            )
            bucket.num_weighted_examples.value = weight
        plots.append(message)
    metrics_ = [make_metrics([(b"sex", name)], auc=0.5) for name in (b"a", b"b", b"c")]
    write_folder(tmp_path / "evaluation", metrics_, plots)
    (model,) = read(tmp_path / "evaluation")
    found = model.stored.plots
    assert found.edges.tolist() == [0, 0.5]
    assert [bool(found.counts[0, row].any()) for row in range(3)] == [True, False, True]
    assert found.calibration[0, :, 0].sum(axis=1).tolist() == [4, 4, 4]
