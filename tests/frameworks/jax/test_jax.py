"""`tracklight.jax` logs pytrees leaf by leaf, with paths as tags."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracklight.jax
from tests.writer.event_files import read_scalars, read_values
from tracklight import summary
from tracklight.errors import UsageWarning
from tracklight.formats.tensor import decode_tensor

Pair = namedtuple("Pair", ["first", "second"])

TREE = {"train": {"loss": 0.5, "top": [1, 2]}, "pair": Pair(3.0, None)}
TAGS = {"train/loss": 0.5, "train/top/0": 1.0, "train/top/1": 2.0, "pair/first": 3.0}


def test_flattens_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(__import__("sys").modules, "jax", raising=False)
    assert tracklight.jax.flatten(TREE) == TAGS
    assert tracklight.jax.flatten(1.5) == {"value": 1.5}
    assert tracklight.jax.flatten({"a": 1}, "b/c/") == {"b/c/a": 1}


def test_flattens_with_jax() -> None:
    jax = pytest.importorskip("jax")
    assert tracklight.jax.flatten(TREE) == TAGS
    leaves = jax.tree_util.tree_leaves(TREE)
    assert list(tracklight.jax.flatten(TREE).values()) == leaves


def test_logs_nothing_without_a_writer() -> None:
    assert not tracklight.jax.scalars(TREE, 1)


def test_invalid_leaf_warns(tmp_path: Path) -> None:
    with summary.create_file_writer(tmp_path) as writer, writer.as_default():
        with pytest.warns(UsageWarning, match="logged nothing") as caught:
            assert not tracklight.jax.scalars({"a": [[1.0, 2.0]], "b": np.zeros(3), "c": 1.0}, 4)
    assert [warning.filename for warning in caught] == [__file__]
    assert ("c", 4, 1.0) in read_scalars(tmp_path)


def test_logs_a_training(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")

    def loss_of(params: Any, x: Any, y: Any) -> Any:
        return ((x @ params["dense"]["kernel"] + params["dense"]["bias"] - y) ** 2).mean()

    params = {"dense": {"kernel": jax.numpy.zeros((3, 1)), "bias": jax.numpy.zeros(1)}}
    x = jax.random.normal(jax.random.PRNGKey(0), (32, 3))
    y = x.sum(axis=1, keepdims=True)
    learn = jax.jit(jax.value_and_grad(loss_of))
    with summary.create_file_writer(tmp_path, strict=True) as writer, writer.as_default():
        for step in range(5):
            loss, grads = learn(params, x, y)
            assert tracklight.jax.scalars({"train": {"loss": loss}}, step)
            assert tracklight.jax.histograms(params, step, "params")
            params = jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)
    values = read_values(tmp_path)
    losses = [float(decode_tensor(value.tensor)) for value in values if value.tag == b"train/loss"]
    assert losses == sorted(losses, reverse=True) and len(set(losses)) == 5
    tags = {value.tag for value in values}
    assert tags == {b"train/loss", b"params/dense/bias", b"params/dense/kernel"}
    kernel = [
        decode_tensor(value.tensor) for value in values if value.tag == b"params/dense/kernel"
    ]
    assert [histogram[:, 2].sum() for histogram in kernel] == [3.0] * 5


def test_logs_narrow_floats(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    with summary.create_file_writer(tmp_path, strict=True) as writer, writer.as_default():
        assert tracklight.jax.scalars({"a": jax.numpy.asarray(0.5, "bfloat16")}, 1)
    assert read_scalars(tmp_path) == [("a", 1, 0.5)]


def test_tags_of_flax_variables(tmp_path: Path) -> None:
    nnx = pytest.importorskip("flax.nnx")
    model = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
    assert set(tracklight.jax.flatten(nnx.state(model), "params")) == {
        "params/kernel",
        "params/bias",
    }
