"""Programs with branches and loops, for `make.py`: some are in one another, some read outer values.

The functions of JAX have locations, as with ``debug_info=True``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import tensorflow as tf
import torch
from jax import lax
from onnx import TensorProto, helper, numpy_helper
from torch import nn


class Choice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def positive(x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.left(x)) + 1

        def negative(x: torch.Tensor) -> torch.Tensor:
            return self.right(x).sin()

        return torch.cond(x.sum() > 0, positive, negative, (x,))


class Nested(nn.Module):
    """The branches of both choices have the same names."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.head = Choice(), nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        def double(x: torch.Tensor) -> torch.Tensor:
            return self.inner(x) * 2

        y = torch.cond(x.mean() > 0.5, double, lambda x: x - 1, (x,))
        return self.head(y), y


class TwoResults(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        def add(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x + y, x - y

        def multiply(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x * y, y.clone()

        a, b = torch.cond(x.sum() > 2, add, multiply, (x, y))
        return a @ b


class BySize(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        size = x.shape[0]
        y = torch.cond(size > 4, lambda x: x.cos(), lambda x: x.sin(), (x,))
        return torch.cat([y.reshape(size * 2, -1), x[:, :2]])


class EachRow(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        from torch._higher_order_ops.map import map

        return map(lambda row, y: (row + y).relu(), x, y)


def make_exported() -> Iterator[tuple[str, nn.Module, tuple[Any, ...], Any]]:
    """Yield modules with an example and the sizes that vary."""
    for module in (Choice(), Nested()):
        for parameter in module.parameters():
            nn.init.zeros_(parameter)
        yield type(module).__name__.lower(), module, (torch.zeros(3, 4),), None
    yield "two_results", TwoResults(), (torch.zeros(4, 4), torch.zeros(4, 4)), None
    sizes = ({0: torch.export.Dim("rows", min=2, max=100)},)
    yield "by_size", BySize(), (torch.zeros(6, 4),), sizes
    yield "each_row", EachRow(), (torch.zeros(3, 4), torch.zeros(4)), None


def make_onnx() -> Iterator[tuple[str, Any]]:
    node, graph = helper.make_node, helper.make_graph

    def tensor(name: str, shape: list[Any] | None, kind: int = TensorProto.FLOAT) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    def model(name: str, nodes: list[Any], *rest: Any) -> Any:
        opset = helper.make_opsetid("", 18)
        return helper.make_model(graph(nodes, name, *rest), opset_imports=[opset])

    condition, x = tensor("c", [], TensorProto.BOOL), tensor("x", ["batch", None, 4])
    add = [node("Add", ["x", "w"], ["sum"]), node("Relu", ["sum"], ["first"])]
    then = graph(add, "then", [], [tensor("first", None)])
    inner = [
        graph([node(op, ["x"], [op])], op, [], [tensor(op, None)]) for op in ("Neg", "Identity")
    ]
    branches = {"then_branch": inner[0], "else_branch": inner[1]}
    again = [node("Not", ["c"], ["not_c"]), node("If", ["not_c"], ["second"], **branches)]
    otherwise = graph(again, "otherwise", [], [tensor("second", None)])
    choose = node("If", ["c"], ["y"], "choose", then_branch=then, else_branch=otherwise)
    weight = numpy_helper.from_array(np.ones(4, np.float32), "w")
    nodes = [choose, node("Mul", ["y", "x"], ["z"])]
    yield "if", model("choice", nodes, [condition, x], [tensor("z", None)], [weight])

    steps = [
        node("Add", ["state", "x"], ["next"]),
        node("Identity", ["go_on"], ["again"]),
        node("Identity", ["next"], ["row"]),
    ]
    kinds = {"go_on": TensorProto.BOOL, "again": TensorProto.BOOL, "i": TensorProto.INT64}
    ends = [
        [tensor(name, None if name not in kinds else [], kinds.get(name, 1)) for name in names]
        for names in (("i", "go_on", "state"), ("again", "next", "row"))
    ]
    body = graph(steps, "body", *ends)
    count = numpy_helper.from_array(np.array(5, np.int64))
    nodes = [
        node("Constant", [], ["n"], value=count),
        node("Loop", ["n", "", "x"], ["last", "rows"], body=body),
        node("Shape", ["rows"], ["shape"]),
    ]
    yield "loop", model("loop", nodes, [x], [tensor("last", None), tensor("shape", None)])


def make_tf_functions() -> Iterator[tuple[str, Any, list[Any]]]:
    """Yield functions; their control flow is lowered to ``Switch``, ``Merge`` and ``Enter``."""

    @tf.function
    def choice(x: tf.Tensor) -> tf.Tensor:
        y = tf.nn.relu(x) if tf.reduce_sum(x) > 0 else tf.sin(x)
        for step in tf.range(3):
            y = y + tf.cast(step, tf.float32)
        return y

    @tf.function
    def arrays(x: tf.Tensor) -> Any:
        rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        step = tf.constant(0)
        while step < 5:
            rows = rows.write(step, tf.reduce_mean(x) * tf.cast(step, tf.float32))
            step += 1
        chosen = tf.switch_case(step, [lambda: tf.constant(1.0), lambda: tf.constant(2.0)])
        return tf.map_fn(lambda row: row * 2, rows.stack()), chosen

    for name, function in (("choice", choice), ("arrays", arrays)):
        yield name, function, [tf.TensorSpec([None, 4], tf.float32, "x")]


def make_located() -> Iterator[tuple[str, str]]:
    x, w = jnp.zeros((4, 8)), jnp.zeros((8, 8))

    def scopes(x: Any, w: Any) -> Any:
        with jax.named_scope("encoder"):
            y = jnp.tanh(x @ w)
        with jax.named_scope("decoder"):
            return y @ w.T

    def cond(x: Any, w: Any) -> Any:
        return lax.cond(x.sum() > 0, lambda y: y @ w, lambda y: y * 2, x)

    def switch(x: Any, w: Any) -> Any:
        inner = [lambda y: jnp.sin(y), lambda y: -y]
        outer = [lambda y: y @ w, lambda y: y * 2, lambda y: lax.switch(jnp.int32(0), inner, y)]
        return lax.switch(jnp.int32(x[0, 0]), outer, x)

    def scan(x: Any, w: Any) -> Any:
        return lax.scan(lambda h, v: (jnp.tanh(h @ w + v),) * 2, jnp.zeros(8), x)

    def scoped_loop(x: Any, w: Any) -> Any:
        def step(state: Any) -> Any:
            with jax.named_scope("layer"):
                return state[0] + 1, state[1] @ w

        return lax.while_loop(lambda state: state[0].sum() < 3, step, (x, x))

    def scatter(x: Any, w: Any) -> Any:
        return x.at[jnp.array([1, 2])].add(1.0), jnp.sort(w, 0)

    for function in (scopes, cond, switch, scan, scoped_loop, scatter):
        text = jax.jit(function).lower(x, w).as_text(debug_info=True)
        yield function.__name__, text.replace(__file__, "branches.py")
