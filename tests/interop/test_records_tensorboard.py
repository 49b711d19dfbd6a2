"""Logged values equal those of TensorBoard's functions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.writer.event_files import read_values
from tracklight import hparams as hp
from tracklight import summary

pytest.importorskip("tensorboard")

from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.plugins.hparams import summary_v2 as their_hp
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.util import tensor_util

NUMBERS = np.random.default_rng(0).normal(size=(2, 4, 3)).astype(np.float32)


def log(tmp_path: Path, call: Callable[[], object]) -> list[Any]:
    """Return what a call logs as TensorBoard's messages."""
    with summary.create_file_writer(tmp_path, strict=True).as_default():
        assert call()
    return [Summary.Value.FromString(value.SerializeToString()) for value in read_values(tmp_path)]


def normalize(values: list[Any]) -> list[Any]:
    """Replace tensors, which have two encodings, by arrays, and remove implied fields."""
    normal = []
    for value in values:
        array = tensor_util.make_ndarray(value.tensor)
        value.ClearField("tensor")
        value.metadata.ClearField("data_class")
        normal.append((value, array.dtype, array.shape, array.tolist()))
    return normal


@pytest.mark.parametrize("value", [1.13, 113, True, np.float64(0.1), math.inf])
def test_same_scalars(tmp_path: Path, value: Any) -> None:
    ours = log(tmp_path, lambda: summary.scalar("a/b", value, step=1, description="The *first*"))
    assert normalize(ours) == normalize(list(scalar_pb("a/b", value, "The *first*").value))


@pytest.mark.parametrize(
    "text", ["A name…", b"A \xe2\x80\xa6", ["x", "y"], [["x", "é"], ["z", ""]]]
)
def test_same_texts(tmp_path: Path, text: Any) -> None:
    ours = log(tmp_path, lambda: summary.text("a/b", text, step=1))
    assert normalize(ours) == normalize(list(text_pb("a/b", text).value))


@pytest.mark.parametrize("numbers", [[12], [12, 12, 12], [], [[[], []], [[], []]], NUMBERS])
@pytest.mark.parametrize("buckets", [None, 44, 1, 0])
def test_same_histograms(tmp_path: Path, numbers: Any, buckets: int | None) -> None:
    (ours,) = log(tmp_path, lambda: summary.histogram("a", numbers, step=1, buckets=buckets))
    (theirs,) = histogram_pb("a", np.asarray(numbers, float), buckets).value
    mine, other = (tensor_util.make_ndarray(value.tensor) for value in (ours, theirs))
    assert mine.shape == other.shape
    np.testing.assert_allclose(mine, other, rtol=1e-12)


def make_hparams(api: Any) -> dict[Any, Any]:
    return {
        api.HParam("learning_rate", api.RealInterval(1e-2, 1e-1)): 0.02,
        api.HParam("dense_layers", api.IntInterval(2, 7)): 5,
        api.HParam("optimizer", api.Discrete(["adam", "sgd"])): "adam",
        api.HParam("who_knows_what"): "???",
        api.HParam("magic", api.Discrete([False, True]), "~*~ Magic ~*~", "descriptive"): True,
        "dropout": 0.3,
        "i32": np.int32(3),
        "f32": np.float32(0.1),
        "bool": np.bool_(True),
        "text": np.str_("x"),
    }


def make_metrics(api: Any) -> list[Any]:
    return [
        api.Metric("samples_per_second"),
        api.Metric(group="train", tag="batch_loss", display_name="loss (train)"),
        api.Metric(
            group="validation",
            tag="epoch_accuracy",
            description="On the _validation_ data.",
            dataset_type=api.Metric.VALIDATION,
        ),
    ]


def parse(value: Any) -> tuple[Any, Any]:
    """Separate the plugin's message, in which the order of hyperparameters is undefined."""
    content = plugin_data_pb2.HParamsPluginData.FromString(value.metadata.plugin_data.content)
    value.metadata.plugin_data.ClearField("content")
    value.metadata.ClearField("data_class")
    return value, content


@pytest.mark.parametrize("trial_id", [None, "psl27"])
def test_same_hparams(tmp_path: Path, trial_id: str | None) -> None:
    (ours,) = log(tmp_path, lambda: hp.hparams(make_hparams(hp), trial_id, 123.45))
    (theirs,) = their_hp.hparams_pb(make_hparams(their_hp), trial_id, 123.45).value
    assert parse(ours) == parse(theirs)


def test_same_experiment(tmp_path: Path) -> None:
    created = time.time()
    infos = [key for key in make_hparams(hp) if isinstance(key, hp.HParam)]
    (ours,) = log(tmp_path, lambda: hp.hparams_config(infos, make_metrics(hp), created))
    infos = [key for key in make_hparams(their_hp) if isinstance(key, their_hp.HParam)]
    (theirs,) = their_hp.hparams_config_pb(infos, make_metrics(their_hp), created).value
    assert parse(ours) == parse(theirs)
