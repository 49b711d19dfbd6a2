"""`tracklight.run`: hyperparameters, values by type, environment and outcome."""

from __future__ import annotations

import argparse
import copy
import getpass
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tracklight
from tests.writer.event_files import iter_events, read_values
from tracklight import hparams, summary
from tracklight.analysis.experiments.settings_files import parse_settings
from tracklight.errors import UsageError, UsageWarning
from tracklight.formats import proto
from tracklight.formats.hparams import (
    RunEnd,
    RunStart,
    Status,
    parse_run_end,
    parse_run_start,
)
from tracklight.formats.media import encode_png
from tracklight.formats.tensor import decode_tensor


def read_texts(logdir: Path) -> dict[str, str]:
    return {
        value.tag.decode(): decode_tensor(value.tensor).item().decode()
        for value in read_values(logdir)
        if value.tag.startswith(b"run/")
    }


def read_hparams(logdir: Path) -> list[Any]:
    return [
        proto.parse("HParamsPluginData", value.metadata.plugin_data.content)
        for value in read_values(logdir)
        if value.tag.startswith(b"_hparams_")
    ]


def test_logs_config_scalars_and_outcome(tmp_path: Path) -> None:
    config = {"lr": 0.1, "optimizer": {"name": "adam", "beta": 0.9}}
    with tracklight.run(tmp_path, config=config) as run:
        assert run.path == str(tmp_path)
        assert run.log({"loss": 0.5, "val": {"acc": np.float32(0.25)}})
        assert run.log({"loss": 0.25}, step=10)
        assert run.log({"loss": 0.125})
        assert tracklight.summary.text("note", "hello", step=1)
    assert not tracklight.summary.should_record_summaries()
    start, end = read_hparams(tmp_path)
    names = {pair.key for pair in start.session_start_info.hparams}
    assert names == {b"lr", b"optimizer/name", b"optimizer/beta"}
    assert end.session_end_info.status == Status.SUCCESS
    log = tracklight.open(tmp_path)
    assert log.scalar(".", "loss").step.tolist() == [0, 10, 11]
    assert log.scalar(".", "val/acc").value.tolist() == [0.25]


@pytest.mark.parametrize("option", ["", ", save_code=False", ", save_code=True"])
def test_logs_environment_and_on_request_the_source(tmp_path: Path, option: str) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, tracklight\n"
        f"run = tracklight.run(sys.argv[1], config={{'lr': 0.1}}{option})\n"
        "run.log({'loss': 1.0})\n"
    )
    subprocess.run([sys.executable, script, tmp_path / "logs"], check=True, timeout=60)
    texts = read_texts(tmp_path / "logs")
    if option == ", save_code=True":
        assert "run.log({'loss': 1.0})" in texts["run/source"]
    else:
        assert "run/source" not in texts
    assert "train.py" in texts["run/environment"]
    assert f"`{sys.version.split()[0]}`" in texts["run/environment"]
    assert read_hparams(tmp_path / "logs")[-1].session_end_info.status == Status.SUCCESS


@pytest.mark.parametrize("script", ["raise ValueError('x')", "with run: raise ValueError('x')"])
def test_failing_program_is_recorded_as_failure(tmp_path: Path, script: str) -> None:
    program = f"import sys, tracklight\nrun = tracklight.run(sys.argv[1])\n{script}\n"
    result = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True)
    assert result.returncode == 1
    assert read_hparams(tmp_path)[-1].session_end_info.status == Status.FAILURE


def read_run_records(logdir: Path) -> tuple[RunStart | None, RunEnd | None]:
    contents = {
        value.tag: value.metadata.plugin_data.content
        for value in read_values(logdir)
        if value.tag.startswith(b"_run_/")
    }
    end = contents.get(b"_run_/end")
    return parse_run_start(contents[b"_run_/start"]), None if end is None else parse_run_end(end)


def test_records_the_process_and_how_it_ended(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="boom"), tracklight.run(tmp_path):
        raise ValueError("boom\nmore")
    start, end = read_run_records(tmp_path)
    assert start is not None
    assert end is not None
    assert start.pid == os.getpid()
    assert start.host == platform.node()
    assert start.user == getpass.getuser()
    assert start.wall_time <= end.wall_time
    assert (end.failed, end.error) == (True, "ValueError: boom\nmore")


def test_killed_program_records_no_end(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys, tracklight\n"
        "run = tracklight.run(sys.argv[1])\nrun.log({'a': 1})\nrun.writer.flush()\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path], check=False, timeout=60)
    start, end = read_run_records(tmp_path)
    assert start is not None
    assert end is None


def test_finish_twice_is_harmless(tmp_path: Path) -> None:
    run = tracklight.run(tmp_path)
    run.finish()
    run.finish(failed=True)
    (end,) = read_hparams(tmp_path)
    assert end.session_end_info.status == Status.SUCCESS
    assert set(read_texts(tmp_path)) == {"run/environment"}


def test_directory_is_named_by_name_and_timestamp(tmp_path: Path) -> None:
    with tracklight.run(tmp_path, name="big", timestamp=True) as run:
        pass
    assert re.fullmatch(r"big-\d{8}-\d{6}", Path(run.path).name)
    with tracklight.run(tmp_path, timestamp=True) as run:
        pass
    assert re.fullmatch(r"\d{8}-\d{6}", Path(run.path).name)


# Values of every kind


class Figure:
    """Behaves like a Matplotlib figure."""

    def savefig(self, stream: Any, format: str) -> None:
        stream.write(encode_png(np.zeros((4, 6, 1), np.uint8)))


def read_plugins(logdir: Path) -> dict[str, str]:
    """Return the plugin of each tag, without those that every run has."""
    return {
        value.tag.decode(): value.metadata.plugin_data.plugin_name.decode()
        for value in read_values(logdir)
        if not value.tag.startswith((b"run/", b"_run_/", b"_hparams_/"))
    }


def make_pil_image() -> Any:
    return pytest.importorskip("PIL.Image").new("L", (6, 4))


@pytest.mark.parametrize(
    ("make", "plugin"),
    [
        (lambda: 1, "scalars"),
        (lambda: True, "scalars"),
        (lambda: np.float32(0.5), "scalars"),
        (lambda: np.array([[0.5]]), "scalars"),
        (lambda: np.array([[1]], np.uint8), "scalars"),
        (lambda: [0.5], "scalars"),
        (make_pil_image, "images"),
        (lambda: [make_pil_image(), make_pil_image()], "images"),
        (Figure, "images"),
        (lambda: SimpleNamespace(figure=Figure()), "images"),
        (lambda: np.zeros((4, 6), np.uint8), "images"),
        (lambda: np.zeros((4, 6, 3), np.uint8), "images"),
        (lambda: np.zeros((2, 4, 6, 3), np.uint8), "images"),
        (lambda: tracklight.Image(np.zeros((4, 6, 3))), "images"),
        (lambda: tracklight.Image(encode_png(np.zeros((4, 6, 3), np.uint8))), "images"),
        (lambda: [tracklight.Image(Figure()), tracklight.Image(np.zeros((2, 2)))], "images"),
        (lambda: np.arange(5), "histograms"),
        (lambda: np.zeros((4, 6, 3)), "histograms"),
        (lambda: tracklight.Histogram([1.0, 2.0]), "histograms"),
        (lambda: tracklight.Histogram(np.zeros((4, 6), np.uint8)), "histograms"),
        (lambda: "some **words**", "text"),
        (lambda: ["a", "b"], "text"),
        (lambda: np.array(["a", "b"]), "text"),
        (lambda: tracklight.Text("a"), "text"),
        (lambda: tracklight.Audio(np.zeros(100), 8000), "audio"),
    ],
)
def test_type_of_a_value_decides_how_it_is_logged(tmp_path: Path, make: Any, plugin: str) -> None:
    with tracklight.run(tmp_path, strict=True) as run:
        assert run.log({"outer": {"value": make()}})
    assert read_plugins(tmp_path) == {"outer/value": plugin}


def test_logs_all_images_of_a_list(tmp_path: Path) -> None:
    pictures = [tracklight.Image(np.zeros((4, 6)), caption=f"no. {n}") for n in range(5)]
    with tracklight.run(tmp_path, strict=True) as run:
        run.log({"many": pictures})
        run.log({"batch": tracklight.Image(np.zeros((5, 4, 6, 1)), max_outputs=2)})
    values = {value.tag: value for value in read_values(tmp_path)}
    assert len(decode_tensor(values[b"many"].tensor)) == 2 + 5
    assert values[b"many"].metadata.summary_description.startswith(b"no. 0\n\nno. 1")
    assert len(decode_tensor(values[b"batch"].tensor)) == 2 + 2


def test_tensorboard_reads_every_type(tmp_path: Path) -> None:
    module = "tensorboard.backend.event_processing.event_accumulator"
    accumulator_of = pytest.importorskip(module).EventAccumulator
    with tracklight.run(tmp_path, config={"optimizer": {"lr": 0.5}}) as run:
        run.log({"loss": 0.5, "picture": make_pil_image(), "weights": np.arange(9), "note": "hi"})
    accumulator = accumulator_of(str(tmp_path)).Reload()
    found = {
        tag: accumulator.SummaryMetadata(tag).plugin_data.plugin_name
        for tag in accumulator.Tags()["tensors"]
    }
    wanted = {"loss": "scalars", "picture": "images", "weights": "histograms", "note": "text"}
    assert wanted.items() <= found.items()
    content = accumulator.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    start = proto.parse("HParamsPluginData", content).session_start_info
    assert [pair.key for pair in start.hparams] == [b"optimizer/lr"]


@pytest.mark.parametrize("values", [5, None, ["loss"], "loss"])
def test_values_that_are_not_a_dict_cause_one_warning(tmp_path: Path, values: Any) -> None:
    with tracklight.run(tmp_path) as run:
        with pytest.warns(UsageWarning, match="`values` must be a dict of values") as caught:
            assert [run.log(values) for _ in range(3)] == [False] * 3
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("value", [None, object(), [1.0, 2.0], {1, 2}, [np.zeros(3), "a"]])
def test_value_of_unknown_type_causes_one_warning(tmp_path: Path, value: Any) -> None:
    with tracklight.run(tmp_path) as run:
        with pytest.warns(UsageWarning, match="`data` ") as caught:
            assert not run.log({"strange": value, "loss": 0.5})
    assert [warning.filename for warning in caught] == [__file__]
    assert read_plugins(tmp_path) == {"loss": "scalars"}


def test_invalid_step_causes_one_warning(tmp_path: Path) -> None:
    with tracklight.run(tmp_path) as run:
        with pytest.warns(UsageWarning, match="`step` ") as caught:
            assert not run.log({"loss": 0.5}, step=float("nan"))  # type: ignore[arg-type]
        assert run.log({"loss": 0.5})
    assert len(caught) == 1


def test_commit_false_keeps_the_step(tmp_path: Path) -> None:
    with tracklight.run(tmp_path) as run:
        run.log({"a": 1.0}, commit=False)
        run.log({"b": 1.0})
        run.log({"a": 1.0})
    steps = {
        (value.tag, event.step)
        for event in iter_events(tmp_path)
        for value in event.summary.value
        if len(value.tag) == 1
    }
    assert steps == {(b"a", 0), (b"b", 0), (b"a", 1)}


# The name, the results and the hyperparameters of a run


def test_name_is_the_directory(tmp_path: Path) -> None:
    with tracklight.run(tmp_path / "exp") as run:
        assert run.name == "exp"
    with tracklight.run(tmp_path, name="big") as run:
        assert run.name == "big"
        with pytest.warns(UsageWarning, match="`name` is the directory of the run") as caught:
            run.name = "small"
        assert run.name == "big"
    assert [warning.filename for warning in caught] == [__file__]


def test_summary_has_last_values_and_logs_explicit_ones(tmp_path: Path) -> None:
    with tracklight.run(tmp_path, strict=True) as run:
        run.log({"loss": np.float32(0.5), "note": "x"})
        run.log({"loss": 0.25}, step=7)
        assert dict(run.summary) == {"loss": 0.25}
        run.summary["best"] = 0.125
        run.summary.update({"loss": 0.0, "words": "done"})
        run.log({"loss": 1.0}, step=8)
        assert dict(run.summary) == {"loss": 0.0, "best": 0.125, "words": "done"}
        assert len(run.summary) == 3
        assert repr(run.summary) == "{'loss': 0.0, 'best': 0.125, 'words': 'done'}"
        del run.summary["best"]
        assert "best" not in run.summary
    log = tracklight.open(tmp_path)
    assert log.scalar(".", "summary/best").step.tolist() == [7]
    assert log.scalar(".", "summary/best").value.tolist() == [0.125]
    assert read_plugins(tmp_path)["summary/words"] == "text"


def test_summary_value_of_unknown_type_causes_one_warning(tmp_path: Path) -> None:
    with tracklight.run(tmp_path) as run, pytest.warns(UsageWarning, match="`data` ") as caught:
        run.summary["best"] = object()
    assert [warning.filename for warning in caught] == [__file__]


def read_config(logdir: Path) -> dict[str, Any]:
    (start, *_) = read_hparams(logdir)
    return {
        pair.key.decode(): getattr(pair.value, pair.value.WhichOneof("kind"))
        for pair in start.session_start_info.hparams
    }


def test_config_can_be_changed_until_the_first_value(tmp_path: Path) -> None:
    with tracklight.run(tmp_path, config={"lr": 0.1, "net": {"depth": 2}}, strict=True) as run:
        run.config.update({"units": 16}, allow_val_change=True)
        run.config.update(argparse.Namespace(seed=3), bias=True)
        run.config["lr"] = 0.5
        run.config.momentum = 0.25
        run.config.setdefaults({"lr": 9.0, "decay": 2.0})
        assert run.config.setdefault("decay", 3.0) == run.config.decay == 2.0
        assert run.config.setdefault("layers", 4) == run.config.layers == 4
        run.config.sizes, run.config.nothing = [1, 2], None
        assert summary.scalar("loss", 1.0, step=1)
        assert not hasattr(run.config, "missing")
    assert read_config(tmp_path) == {
        **{"lr": 0.5, "net/depth": 2.0, "units": 16.0, "seed": 3.0, "bias": True},
        **{"momentum": 0.25, "decay": 2.0, "layers": 4.0, "sizes": b"[1, 2]", "nothing": b"None"},
    }
    assert type(copy.deepcopy(run.config)) is dict


@pytest.mark.parametrize(
    "log",
    [
        lambda run: run.log({"loss": 1.0}),
        lambda run: summary.scalar("loss", 1.0, step=1),
        lambda run: summary.histogram("weights", [1.0], step=1),
        lambda run: summary.graph(b""),
    ],
)
def test_config_is_written_before_the_first_value(tmp_path: Path, log: Any) -> None:
    run = tracklight.run(tmp_path, config={"lr": 0.1})
    run.config.update(lr=0.5)
    log(run)
    run.writer.flush()
    assert read_config(tmp_path) == {"lr": 0.5}
    run.finish()
    assert len(read_hparams(tmp_path)) == 2


def test_late_change_of_config_causes_one_warning(tmp_path: Path) -> None:
    with tracklight.run(tmp_path, config={"lr": 0.1}) as run:
        run.log({"loss": 1.0})
        with pytest.warns(
            UsageWarning, match="`config` was changed after the first value"
        ) as caught:
            for rate in (0.2, 0.3):
                run.config.update(lr=rate)
        run.config["lr"] = run.config["lr"]
    assert [warning.filename for warning in caught] == [__file__]
    assert read_config(tmp_path) == {"lr": 0.1}


def test_first_config_may_come_after_values(tmp_path: Path) -> None:
    with tracklight.run(tmp_path, strict=True) as run:
        run.log({"loss": 1.0})
        run.config = {"lr": 0.5}
    assert read_config(tmp_path) == {"lr": 0.5}


def test_invalid_config_causes_one_warning(tmp_path: Path) -> None:
    with tracklight.run(tmp_path) as run, pytest.warns(UsageWarning, match=r"config\.update"):
        run.config.update(5)
    with tracklight.run(tmp_path, strict=True) as run, pytest.raises(TypeError):
        run.config.update(5)


def test_warning_about_a_hyperparameter_points_at_the_start_of_the_run(tmp_path: Path) -> None:
    with pytest.warns(UsageWarning, match='contains "thing" of type object') as caught:
        with tracklight.run(tmp_path, config={"thing": object()}) as run:
            line = sys._getframe().f_lineno - 1
            run.log({"loss": 1.0})
    assert [(warning.filename, warning.lineno) for warning in caught] == [(__file__, line)]


def test_all_apis_flatten_nested_hyperparameters_alike(tmp_path: Path) -> None:
    nested = {"optimizer": {"lr": 0.5, "betas": {"first": 0.9}}}
    names = {"optimizer/lr", "optimizer/betas/first"}
    with tracklight.run(tmp_path / "run", config=nested):
        pass
    assert set(read_config(tmp_path / "run")) == names
    with summary.create_file_writer(tmp_path / "hparams", strict=True).as_default():
        assert hparams.hparams(nested)
        with pytest.raises(UsageError, match='contains "optimizer/lr" twice'):
            hparams.hparams({**nested, "optimizer/lr": 1.0})
    assert set(read_config(tmp_path / "hparams")) == names
    assert set(parse_settings("config.json", json.dumps(nested).encode())) == names
