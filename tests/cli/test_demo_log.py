from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.demo_log import get_demo_log
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.findings.summary import summarize
from tracklight.analysis.profiles.kernels import measure_precision
from tracklight.analysis.profiles.steps import detect_steps
from tracklight.analysis.profiles.trace import Trace
from tracklight.cli.demo import write_demo
from tracklight.cli.demo.graphs import write_storyteller
from tracklight.cli.demo.sweep import GRID_TRIALS, TRIALS, GridTrial, write_grid
from tracklight.errors import UsageError
from tracklight.formats import proto
from tracklight.formats.summary import decode_event, parse_metadata
from tracklight.formats.tensor import decode_tensor
from tracklight.formats.tfrecord import iter_records
from tracklight.formats.values import decode_value
from tracklight.types import Float32, Kind

NOW = 1_800_000_000.0

KINDS = {
    "scalars": Kind.SCALAR,
    "images": Kind.IMAGE,
    "audio": Kind.AUDIO,
    "text": Kind.TEXT,
    "histograms": Kind.HISTOGRAM,
}


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return get_demo_log(tmp_path_factory, now=NOW)


def iter_events(run: Path) -> Iterator[Any]:
    for path in sorted(run.glob("*tfevents*")):
        for _, payload in iter_records(path.read_bytes()):
            yield decode_event(payload)


def list_runs(logdir: Path) -> list[Path]:
    return sorted({path.parent for path in logdir.rglob("*tfevents*")})


def read_scalar(run: Path, tag: bytes) -> tuple[list[int], list[float]]:
    steps, values = [], []
    for event in iter_events(run):
        for value in event.summary.value:
            if value.tag == tag:
                steps.append(event.step)
                values.append(decode_tensor(value.tensor).item())
    return steps, values


def test_runs(logdir: Path) -> None:
    names = {path.relative_to(logdir).as_posix() for path in list_runs(logdir)}

    trials = {f"sweep/{trial.name}" for trial in TRIALS}
    assert len(trials) == 8
    parts = {f"{trial}/{part}" for trial in trials for part in ("train", "validation")}
    grid = {f"grid/{trial.name}" for trial in GRID_TRIALS}
    assert len(grid) == 36
    parts |= {f"{trial}/validation" for trial in grid}
    painters = {"painter/small", "painter/large"}
    denoisers = {"denoiser/conv", "denoiser/recurrent"}
    tellers = {"storyteller/small", "storyteller/large"}
    flowers = {"flowers/before", "flowers/after"}
    diverging = {"divergence/lr=0.5", "divergence/lr=0.05"}
    models = denoisers | painters | tellers | flowers | diverging
    single = {"sweep", "grid", "shapes", "resnet50", "embeddings", "lending"}
    assert names == {*single, *models, *trials, *grid, *parts}


def test_has_decodable_data_of_every_kind(logdir: Path) -> None:
    plugins: dict[str, int] = defaultdict(int)
    for run in list_runs(logdir):
        plugin_of: dict[bytes, str] = {}
        for event in iter_events(run):
            plugins[event.WhichOneof("what")] += 1
            for value in event.summary.value:
                metadata = parse_metadata(value.metadata.SerializeToString())
                plugin = plugin_of.setdefault(value.tag, metadata.plugin)
                plugins[plugin] += 1
                decode_value(value.SerializeToString(), KINDS.get(plugin, Kind.TENSOR))

    assert set(plugins) == {
        "scalars",
        "images",
        "audio",
        "text",
        "histograms",
        "pr_curves",
        "tracklight_fairness",
        "mesh",
        "custom_scalars",
        "tracklight_debugger",
        "hparams",
        "graph_keras_model",
        "",
        "file_version",
        "session_log",
        "graph_def",
        "tagged_run_metadata",
        "summary",
    }


def test_wall_times_increase_over_the_past_hours(logdir: Path) -> None:
    times = [event.wall_time for run in list_runs(logdir) for event in iter_events(run)]

    assert NOW - 8 * 3600 < min(times) < NOW - 4 * 3600
    assert NOW - 15 * 60 < max(times) <= NOW


def test_loss_decreases(logdir: Path) -> None:
    _, losses = read_scalar(logdir / "sweep/lr=0.03,bn/train", b"loss")
    _, accuracies = read_scalar(logdir / "sweep/lr=0.03,bn/validation", b"accuracy")

    assert np.mean(losses[:20]) > 1.5 > 0.3 > np.mean(losses[-20:])
    assert accuracies[0] < 0.6 < 0.9 < accuracies[-1] <= 1


def test_one_trial_diverges(logdir: Path) -> None:
    steps, losses = read_scalar(logdir / "sweep/lr=0.3/train", b"loss")

    assert np.flatnonzero(np.isnan(losses))[0] == steps.index(1400)
    assert np.isnan(losses[-1])
    assert max(losses[: steps.index(1400)]) > 10


def test_one_trial_is_resumed(logdir: Path) -> None:
    run = logdir / "sweep/lr=0.03,bn/train"
    steps, _ = read_scalar(run, b"loss")
    restarts = [event.step for event in iter_events(run) if event.HasField("session_log")]

    assert len(list(run.iterdir())) == 2
    assert restarts == [3000]
    assert np.flatnonzero(np.diff(steps) < 0).tolist() == [steps.index(3710)]
    assert steps[-1] == 5990


def test_grid_search_has_a_clear_optimum(logdir: Path) -> None:
    def get_accuracy(trial: GridTrial) -> float:
        _, accuracies = read_scalar(logdir / f"grid/{trial.name}/validation", b"accuracy")
        return float(accuracies[-1])

    best = max((trial for trial in GRID_TRIALS if not trial.diverges), key=get_accuracy)
    assert (best.units, best.dropout, best.learning_rate) == (128, 0.1, 0.1)
    assert 0.85 < get_accuracy(best) < 1


def test_second_profile_follows_the_findings_of_the_first(logdir: Path) -> None:
    def read(name: str) -> Trace:
        (path,) = (logdir / "flowers" / name).glob("plugins/profile/*/*.xplane.pb")
        return open_capture(path)

    before, after = read("before"), read("after")
    assert [finding.name for finding in summarize(before).findings] == ["input", "precision"]
    assert summarize(after).findings == []
    assert before.problems == after.problems == ()
    assert measure_precision(before).low_share == 0
    assert (measure_precision(after).low_share or 0) > 0.8
    took_before, took_after = (np.diff(detect_steps(it).spans).mean() for it in (before, after))
    assert took_after < took_before / 5


def test_graph_is_connected(logdir: Path) -> None:
    events = iter_events(logdir / "sweep/lr=0.1,bn/train")
    (data,) = (event.graph_def for event in events if event.WhichOneof("what") == "graph_def")

    nodes = proto.parse("GraphDef", data).node
    names = [node.name for node in nodes]
    assert len(names) == len(set(names)) > 50
    assert {source.lstrip(b"^") for node in nodes for source in node.input} <= set(names)
    assert max(name.count(b"/") for name in names) >= 4


def test_model_graphs_are_complete(logdir: Path) -> None:
    """All inputs exist, and the recorded step refers to nodes of the graph."""
    for run in ("resnet50", "storyteller/small", "storyteller/large"):
        events = {event.WhichOneof("what"): event for event in iter_events(logdir / run)}
        nodes = proto.parse("GraphDef", events["graph_def"].graph_def).node
        names = {node.name for node in nodes}
        assert len(names) == len(nodes) > 150
        assert {source.lstrip(b"^") for node in nodes for source in node.input} <= names
    (recorded,) = (
        event.tagged_run_metadata.run_metadata
        for event in iter_events(logdir / "resnet50")
        if event.HasField("tagged_run_metadata")
    )
    stats = proto.parse("StepStats", proto.parse("RunMetadata", recorded).step_stats)
    ran = {node.node_name for device in stats.dev_stats for node in device.node_stats}
    graph = next(it.graph_def for it in iter_events(logdir / "resnet50") if it.graph_def)
    assert ran < {node.name for node in proto.parse("GraphDef", graph).node}
    assert len(stats.dev_stats) == 2


def test_projector_files_are_consistent(logdir: Path) -> None:
    folder = logdir / "embeddings"
    vectors = np.loadtxt(folder / "tensors.tsv")
    header, *labels = (folder / "metadata.tsv").read_text().splitlines()
    config = (folder / "projector_config.pbtxt").read_text()

    assert vectors.shape == (400, 24)
    assert len(labels) == 400
    assert header.count("\t") == labels[0].count("\t") == 2
    for name in ("tensors.tsv", "metadata.tsv", "sprite.png"):
        assert f'"{name}"' in config
        assert (folder / name).exists()


def test_word_vectors_form_groups_and_analogies(logdir: Path) -> None:
    folder = logdir / "embeddings"
    _, *rows = (folder / "words.tsv").read_text().splitlines()
    words = [row.split("\t")[0] for row in rows]
    assert len(words) == len(set(words))
    first, last = (
        np.fromfile(folder / f"words-{step:05d}.bytes", "<f4").reshape(len(words), -1)
        for step in (0, 16_000)
    )

    def find(wanted: Float32) -> str:
        places = last / np.linalg.norm(last, axis=1, keepdims=True)
        return words[int((places @ wanted).argmax())]

    paris, france, japan = (last[words.index(word)] for word in ("paris", "france", "japan"))
    assert find(paris - france + japan) == "tokyo"
    assert np.abs(first).max() < np.abs(last).max()


def read_all(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.slow
def test_same_seed_gives_the_same_log(logdir: Path, tmp_path: Path) -> None:
    write_demo(tmp_path / "same", now=NOW)

    assert read_all(tmp_path / "same") == read_all(logdir)


def test_another_seed_gives_other_values(logdir: Path, tmp_path: Path) -> None:
    write_grid(tmp_path / "grid", seed=1, now=NOW)
    write_storyteller(tmp_path / "storyteller", seed=1, now=NOW)

    for name in ("grid", "storyteller"):
        assert read_all(tmp_path / name) != read_all(logdir / name)


def test_rejects_a_directory_that_is_not_empty(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()

    with pytest.raises(UsageError, match="is not empty"):
        write_demo(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.slow
def test_command_writes_the_log(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tracklight", "demo", str(tmp_path / "logs")]

    first = subprocess.run(command, capture_output=True, text=True)
    second = subprocess.run(command, capture_output=True, text=True)

    assert (first.returncode, first.stderr) == (0, "")
    assert "wrote a demo log" in first.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]
    assert second.returncode == 2
    assert "already exists" in second.stderr
