"""Results in event files: written, read back, and rejected when damaged."""

from __future__ import annotations

import json
import zlib

import numpy as np
import pytest

import tracklight
from tests.fairness.test_evaluate import ARGUMENTS, COLUMNS, make_multiclass
from tracklight.analysis.evaluation import metrics
from tracklight.analysis.evaluation.report import (
    PLUGIN_NAME,
    decode_evaluation,
    encode_evaluation,
)
from tracklight.errors import FormatError
from tracklight.fairness import evaluate
from tracklight.formats import proto
from tracklight.formats.tensor import decode_tensor
from tracklight.formats.tfrecord import iter_records


@pytest.fixture(scope="module")
def result():
    return evaluate(COLUMNS, **ARGUMENTS)


def read_values(folder):
    values = []
    for path in sorted(folder.glob("*tfevents*")):
        for _, payload in iter_records(path.read_bytes()):
            event = proto.parse("Event", payload)
            values += [(event.step, value) for value in event.summary.value]
    return values


def test_written_result_is_read_back(result, tmp_path):
    result.write(tmp_path / "run1", step=7)
    ((step, value),) = read_values(tmp_path / "run1")
    assert step == 7
    assert value.tag == b"fairness"
    assert value.metadata.plugin_data.plugin_name.decode() == PLUGIN_NAME
    stored = decode_evaluation(decode_tensor(value.tensor).tolist())
    np.testing.assert_array_equal(stored.result.value, result.evaluation.value)
    np.testing.assert_array_equal(stored.result.lower, result.evaluation.lower)
    assert stored.result.slices == result.evaluation.slices
    assert stored.result.columns == result.evaluation.columns
    assert stored.columns_used == {"label": "label", "prediction": "score"}
    first, second = stored.result.difference(), result.evaluation.difference()
    np.testing.assert_allclose(first.lower, second.lower, atol=1e-6)
    np.testing.assert_allclose(first.p_value, second.p_value, atol=1e-3)


def test_open_writer_gets_all_steps(result, tmp_path):
    writer = tracklight.summary.create_file_writer(str(tmp_path))
    for step in range(3):
        result.write(writer, step=step)
    writer.close()
    assert [step for step, _ in read_values(tmp_path)] == [0, 1, 2]
    assert len(list(tmp_path.iterdir())) == 1


def test_log_lists_the_tag(result, tmp_path):
    result.write(tmp_path / "run1", step=1, tag="test set")
    with tracklight.open(tmp_path) as log:
        assert list(log["run1"].tags()) == ["test set"]


def test_plots_of_a_slice(result):
    plots = decode_evaluation(encode_evaluation(result.stored)).plots
    row = plots.find_row(result.evaluation.get_slice("sex:F"))
    mask = COLUMNS["sex"] == "F"
    label, score = COLUMNS["label"][mask], COLUMNS["score"][mask]
    curve = metrics.roc_curve(plots.counts[0, row], plots.edges)
    for at in (1, len(curve.threshold) // 2):
        positive = score > curve.threshold[at]
        assert curve.true_positive_rate[at] == pytest.approx(positive[label == 1].mean())
        assert curve.false_positive_rate[at] == pytest.approx(positive[label == 0].mean())
    assert len(plots.edges) <= 210
    assert set(np.round(np.arange(1, 10) / 10, 1)) <= set(plots.edges.round(12))
    calibration = metrics.calibration_curve(plots.calibration[0, row])
    inside = (score > 0.3) & (score <= 0.4)
    assert calibration.positive_share[3] == pytest.approx(label[inside].mean())
    assert calibration.weight.sum() == mask.sum()


def test_plots_of_a_multiclass_model():
    label, scores, group = make_multiclass()
    result = evaluate({"group": group}, label=label, prediction=scores, slices=["group"])
    plots = decode_evaluation(encode_evaluation(result.stored)).plots
    row = plots.find_row(result.evaluation.get_slice("group:x"))
    mask = group == "x"
    expected = np.zeros((3, 3))
    np.add.at(expected, (label[mask], scores[mask].argmax(axis=1)), 1)
    np.testing.assert_array_equal(plots.confusion[row], expected)
    assert plots.counts.shape[0] == 3


def test_many_slices_are_bounded():
    rng = np.random.default_rng(0)
    rows = 40_000
    frame = {
        "label": rng.integers(0, 2, rows),
        "score": rng.random(rows),
        "id": rng.integers(0, 20_000, rows),
    }
    result = evaluate(frame, label="label", prediction="score", slices=["id"], metrics=["recall"])
    assert len(result.slices) > 10_000
    parts = encode_evaluation(result.stored)
    assert sum(map(len, parts)) < 20_000_000
    stored = decode_evaluation(parts)
    assert stored.plots.find_row(0) == 0
    assert stored.plots.counts.size <= 1_100_000


def damage(parts, change):
    header = json.loads(parts[0])
    change(header)
    return [json.dumps(header).encode(), *parts[1:]]


def set_shape(header):
    header["arrays"][1]["shape"] = [1 << 40, 1 << 20]


def move_plots(parts):
    header = json.loads(parts[0])
    names = [spec["name"] for spec in header["arrays"]]
    at = names.index("plot_rows")
    rows = np.frombuffer(zlib.decompress(parts[1 + at]), header["arrays"][at]["dtype"])
    moved = zlib.compress((rows + 100).astype(rows.dtype).tobytes())
    return [*parts[: 1 + at], moved, *parts[2 + at :]]


def set_wrong_shape(header):
    header["arrays"][1]["shape"] = [1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parts: [], "is empty"),
        (lambda parts: [b"{", *parts[1:]], "header of the evaluation is invalid"),
        (lambda parts: parts[:-1], "is incomplete"),
        (lambda parts: [parts[0], parts[1][:-5], *parts[2:]], "incomplete|damaged"),
        (lambda parts: [parts[0], b"no zlib data", *parts[2:]], "damaged"),
        (lambda parts: [parts[0], zlib.compress(b"0" * 10_000_000), *parts[2:]], "incomplete"),
        (lambda parts: damage(parts, set_shape), "too large"),
        (lambda parts: damage(parts, set_wrong_shape), "incomplete|unexpected shape"),
        (
            lambda parts: damage(parts, lambda h: h["arrays"][0].update(dtype="|O")),
            'the array "counts" of the evaluation has an invalid type',
        ),
        (
            lambda parts: damage(parts, lambda h: h["arrays"][0].update(name="other")),
            'the evaluation has no array "counts"',
        ),
        (lambda parts: move_plots(parts), "the plots of the evaluation do not fit its slices"),
        (lambda parts: damage(parts, lambda h: h.update(version=99)), "newer version"),
        (lambda parts: damage(parts, lambda h: h.update(method="guess")), "unknown interval"),
        (lambda parts: damage(parts, lambda h: h.update(samples=0)), "samples must be"),
        (lambda parts: damage(parts, lambda h: h["slices"].pop()), "unexpected shape|do not fit"),
    ],
)
def test_damaged_results_are_one_sentence(result, change, message):
    with pytest.raises(FormatError, match=message):
        decode_evaluation(change(encode_evaluation(result.stored)))
