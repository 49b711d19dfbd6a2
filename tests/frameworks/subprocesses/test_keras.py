"""The Keras callback with each backend."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.frameworks.programs import HERE, need, run_keras
from tests.writer.event_files import iter_events
from tracklight.analysis.profiles.captures import list_captures, open_capture
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.formats.proto import parse
from tracklight.formats.tensor import decode_tensor
from tracklight.logdir.access import Root
from tracklight.writer.media import find_image_size

BACKENDS = ("tensorflow", "jax", "torch")

#: Every second batch of 3 epochs with 4 batches each.
BATCHES = [2, 4, 6, 8, 10, 12]


class Training(NamedTuple):
    backend: str
    logdir: Path
    output: Any

    def read(self, run: str) -> dict[str, dict[int, Any]]:
        """Return values by tag and step."""
        values: dict[str, dict[int, Any]] = defaultdict(dict)
        for event in iter_events(self.logdir / run):
            for value in event.summary.value:
                values[value.tag.decode()][event.step] = decode_tensor(value.tensor)
        return values


@pytest.fixture(scope="module", params=BACKENDS)
def training(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Training:
    need("keras", request.param)
    logdir = tmp_path_factory.mktemp(request.param)
    output = run_keras("keras_training.py", logdir, backend=request.param)
    return Training(request.param, logdir, output)


def test_missing_keras_raises() -> None:
    script = (
        "import sys; sys.modules['keras'] = None; import tracklight.keras\n"
        "try: tracklight.keras.TensorBoard\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "tracklight.keras needs an extra: pip install 'tracklight[keras]'\n"


def test_logs_epochs_of_both_runs(training: Training) -> None:
    history = training.output["history"]
    ours = training.read("ours/train"), training.read("ours/validation")
    for name in ("loss", "mae"):
        for run, key in zip(ours, (name, f"val_{name}"), strict=True):
            logged = [run[f"epoch_{name}"][epoch] for epoch in range(3)]
            assert logged == pytest.approx(history[key], rel=1e-6)
    rates = [ours[0]["epoch_learning_rate"][epoch] for epoch in range(3)]
    assert rates == pytest.approx([0.1, 0.05, 0.1 / 3])
    assert list(ours[0]["epoch_steps_per_second"]) == [0, 1, 2]
    assert set(ours[1]) == {
        "epoch_loss",
        "epoch_mae",
        "evaluation_loss_vs_iterations",
        "evaluation_mae_vs_iterations",
    }


def test_logs_evaluations_by_iterations(training: Training) -> None:
    logged = training.read("ours/validation")["evaluation_loss_vs_iterations"]
    assert list(logged) == [4, 8, 12]
    assert list(logged.values()) == pytest.approx(training.output["history"]["val_loss"], rel=1e-6)


def test_logs_every_second_batch(training: Training) -> None:
    train = training.read("ours/train")
    for tag in ("batch_loss", "batch_mae", "batch_steps_per_second"):
        assert list(train[tag]) == BATCHES


def test_default_writer_is_set_for_other_callbacks(training: Training) -> None:
    train, own = training.read("ours/train"), training.read("own")
    # The value is the batch number in the epoch, the step that of the whole training.
    assert {step: float(value) for step, value in train["mine"].items()} == {
        step: (step - 1) % 4 for step in BATCHES
    }
    assert list(own) == ["loss"]
    assert list(own["loss"].values()) == pytest.approx(training.output["history"]["loss"], rel=1e-6)


def test_logs_weights(training: Training) -> None:
    train = training.read("ours/train")
    weights = {"words/embeddings", "conv/kernel", "conv/bias", "out/kernel", "out/bias"}
    for name in weights:
        histograms = train[f"net/{name}/histogram"]
        assert list(histograms) == [0, 2]
        assert all(array.shape == (30, 3) for array in histograms.values())
        width, height, picture = train[f"net/{name}/image"][2]
        assert find_image_size(picture) == (int(width), int(height))
    assert sum(train["net/words/embeddings/histogram"][2][:, 2]) == 400


def test_logs_the_model(training: Training) -> None:
    train = training.read("ours/train")
    model = json.loads(train["keras"][0].item())
    assert [layer["config"]["name"] for layer in model["config"]["layers"]][1:3] == [
        "words",
        "conv",
    ]


def test_logs_graph_of_a_training_step(training: Training) -> None:
    assert len(training.read("ours/train")["batch_5"][5].item()) > 1000
    if training.backend == "torch":
        return
    graphs = [event.graph_def for event in iter_events(training.logdir / "ours/train")]
    (graph,) = filter(None, graphs)
    nodes = parse("GraphDef", graph).node
    assert len(nodes) > 20
    inputs = {source.lstrip(b"^").partition(b":")[0] for node in nodes for source in node.input}
    assert inputs <= {node.name for node in nodes}


def test_writes_embeddings_for_the_projector(training: Training) -> None:
    run_dir = training.logdir / "ours/train"
    config = (run_dir / "projector_config.pbtxt").read_text()
    assert config.count("embeddings {") == 3
    assert config.index("words:00002") < config.index("words:00001")
    assert 'metadata_path: "embeddings/words.tsv"' in config
    vectors = np.fromfile(run_dir / "embeddings/words-00002.bytes", "<f4").reshape(50, 8)
    assert np.allclose(vectors, training.output["words"])
    assert (run_dir / "embeddings/words.tsv").read_text().startswith("w0\nw1\n")


def test_tensorboard_opens_the_embeddings(training: Training) -> None:
    pytest.importorskip("tensorboard")
    need("werkzeug")
    output = run_keras("projector_reader.py", training.logdir, "ours/train", backend="tensorflow")
    assert output["names"] == ["words:00002", "words:00001", "words:00000"]
    assert np.allclose(np.reshape(output["tensor"], (50, 8)), training.output["words"])
    assert output["metadata"].startswith("w0\nw1\n")


def test_profiles_batches_as_steps(training: Training) -> None:
    (capture,) = list_captures([Root("", str(training.logdir / "ours"))])
    assert capture.run == "train"
    steps = detect_steps(open_capture(capture.path))
    form = "ProfilerStep#{}" if training.backend == "torch" else "train {}"
    assert steps.names == tuple(form.format(batch) for batch in (3, 4, 5))


def test_logs_the_same_as_the_keras_callback(tmp_path: Path) -> None:
    need("keras", "tensorflow")
    run_keras("keras_training.py", tmp_path, "--original", backend="tensorflow")
    both = Training("tensorflow", tmp_path, None)
    ours, theirs = both.read("ours/train"), both.read("theirs/train")
    for tag, values in theirs.items():
        if "steps_per_second" in tag:
            continue
        assert set(values) <= set(ours[tag]), tag
        for step, value in values.items():
            assert np.array_equal(ours[tag][step], value), (tag, step)
    assert {"keras", "batch_loss", "net/conv/kernel/histogram"} <= set(theirs)


@pytest.mark.parametrize("backend", BACKENDS)
def test_misuse_warns_without_breaking_training(backend: str, tmp_path: Path) -> None:
    need("keras", backend)
    output = run_keras("keras_misuse.py", tmp_path, backend=backend)
    starts = [
        "`histogram_freq` must be a number of epochs",
        "`update_freq` must be 'epoch'",
        "`profile_batch` must be a batch number",
        "`embeddings_metadata` names unknown embedding layers: unknown",
        "keras.TensorBoard (epoch_strange) logged nothing: `strange` must be one number",
        "keras.TensorBoard (embeddings_freq) logged nothing: NotADirectoryError",
    ]
    assert len(output["warnings"]) == len(starts), output["warnings"]
    for warning, start in zip(output["warnings"], starts, strict=True):
        assert warning.startswith(start)
    assert output["files"] == [str(HERE / "keras_misuse.py")]
    assert output["strict"].startswith("`update_freq` must be")
    assert len(output["losses"]) == 2
    both = Training(backend, tmp_path, output)
    assert list(both.read("strange/train")["epoch_loss"]) == [0, 1]
    assert list(both.read("interrupted/train")["batch_loss"]) == [1, 2, 3, 4, 5, 6]
