"""JAX programs with and without numerical problems; see the zoo of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from tracklight.debugger import watch

Program = Callable[[Path], None]
STEPS = 12


def train(
    folder: Path,
    loss: Callable[..., Any],
    params: Any,
    make_batch: Callable[[int], Any],
    lr: float = 0.01,
) -> None:
    @jax.jit
    def step(params: Any, batch: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, batch)
        return jax.tree.map(lambda p, g: p - lr * g, params, gradient), value

    with watch(step, folder, first=STEPS) as watched:
        for number in range(STEPS):
            params, _ = watched(params, make_batch(number))


def normal(seed: int, *shape: int) -> Any:
    return jax.random.normal(jax.random.key(seed), shape)


def log_of_zero(folder: Path) -> None:
    def loss(params: Any, x: Any) -> Any:
        probabilities = jax.nn.softmax(x @ params * 100)
        return -jnp.log(probabilities).mean()

    train(folder, loss, normal(0, 8, 4), lambda step: normal(step, 16, 8))


def nan_in_data(folder: Path) -> None:
    def make_batch(step: int) -> Any:
        return normal(step, 16, 8).at[2, 3].set(jnp.nan if step == 4 else 0.0)

    train(folder, lambda params, x: jnp.mean((x @ params) ** 2), normal(0, 8, 1), make_batch)


def sqrt_gradient(folder: Path) -> None:
    def loss(params: Any, x: Any) -> Any:
        y = x @ params
        return jnp.sqrt(((y[:, None] - y[None]) ** 2).sum(-1)).mean()

    train(folder, loss, normal(0, 8, 3), lambda step: normal(step, 6, 8))


def bad_learning_rate(folder: Path) -> None:
    def loss(params: Any, x: Any) -> Any:
        return jnp.mean((x @ params[0] @ params[1]) ** 2)

    params = [normal(0, 8, 16), normal(1, 16, 1)]
    train(folder, loss, params, lambda step: normal(step, 16, 8), lr=20.0)


def division_by_zero(folder: Path) -> None:
    def loss(params: Any, x: Any) -> Any:
        norm = jnp.abs(x).sum(axis=1, keepdims=True)
        return jnp.mean((x / norm) @ params)

    def make_batch(step: int) -> Any:
        return normal(step, 16, 8).at[0].multiply(0.0 if step >= 3 else 1.0)

    train(folder, loss, normal(0, 8, 1), make_batch)


def empty_mask_row(folder: Path) -> None:
    def loss(params: Any, x: Any) -> Any:
        return jnp.mean(jax.nn.softmax(jnp.where(x[:, :1] > 2, x @ params, -jnp.inf)))

    train(folder, loss, normal(0, 8, 4), lambda step: normal(step, 16, 8))


def nan_in_targets(folder: Path) -> None:
    def loss(params: Any, batch: Any) -> Any:
        return jnp.mean((batch["x"] @ params - batch["y"]) ** 2)

    def make_batch(step: int) -> Any:
        y = normal(step, 16, 1)
        return {"x": normal(step, 16, 8), "y": y.at[2].set(jnp.nan) if step >= 4 else y}

    train(folder, loss, normal(0, 8, 1), make_batch)


def where_trap(folder: Path) -> None:
    def loss(params: Any, x: Any) -> Any:
        y = x @ params
        return jnp.mean(jnp.where(y > 0, jnp.log(y), 0.0))

    train(folder, loss, normal(0, 8, 4), lambda step: normal(step, 16, 8))


BROKEN: dict[Program, tuple[str, str]] = {
    log_of_zero: ("inf", "log"),
    nan_in_data: ("nan", "argument"),
    sqrt_gradient: ("inf", "gradient of sqrt"),
    bad_learning_rate: ("inf", "learning rate"),
    division_by_zero: ("nan", "div"),
    empty_mask_row: ("nan", "masked completely"),
    nan_in_targets: ("nan", "argument/1/y"),
    where_trap: ("nan", "log"),
}


def mlp(folder: Path) -> None:
    def loss(params: Any, x: Any) -> Any:
        return jnp.mean((jax.nn.relu(x @ params[0]) @ params[1] - x.sum(1, keepdims=True)) ** 2)

    params = [normal(0, 8, 32) * 0.3, normal(1, 32, 1) * 0.3]
    train(folder, loss, params, lambda step: normal(step, 16, 8))


def masked_attention(folder: Path) -> None:
    """A mask of -Inf is not a problem."""
    mask = jnp.tril(jnp.ones((6, 6), bool))

    def loss(params: Any, x: Any) -> Any:
        scores = jnp.where(mask, (x @ params) @ x.swapaxes(-1, -2), -jnp.inf)
        return jnp.mean((jax.nn.softmax(scores) @ x) ** 2)

    train(folder, loss, normal(0, 8, 8) * 0.1, lambda step: normal(step, 4, 6, 8))


def scanned_rnn(folder: Path) -> None:
    def loss(params: Any, x: Any) -> Any:
        def cell(state: Any, value: Any) -> Any:
            state = jnp.tanh(state @ params[0] + value @ params[1])
            return state, state

        return jnp.mean(jax.lax.scan(cell, jnp.zeros((4, 8)), x)[1] ** 2)

    params = [normal(0, 8, 8) * 0.3, normal(1, 3, 8)]
    train(folder, loss, params, lambda step: normal(step, 10, 4, 3))


def normalized_layers(folder: Path) -> None:
    """``jnp.var`` contains a constant NaN that is not selected."""

    def apply(params: Any, x: Any) -> Any:
        y = x @ params
        return jax.nn.gelu((y - y.mean()) / jnp.sqrt(y.var() + 1e-5))

    def loss(params: Any, x: Any) -> Any:
        return jnp.mean(jax.vmap(apply, (None, 0))(params, x) ** 2)

    train(folder, loss, normal(0, 8, 4) * 0.3, lambda step: normal(step, 16, 8))


def missing_targets(folder: Path) -> None:
    """NaN marks missing values that the loss leaves out."""

    def loss(params: Any, batch: Any) -> Any:
        is_known = ~jnp.isnan(batch["y"])
        error = batch["x"] @ params - jnp.where(is_known, batch["y"], 0)
        return jnp.mean(jnp.where(is_known, error**2, 0))

    def make_batch(step: int) -> Any:
        return {"x": normal(step, 16, 8), "y": normal(step, 16, 1).at[::3].set(jnp.nan)}

    train(folder, loss, normal(0, 8, 1) * 0.1, make_batch)


HEALTHY: tuple[Program, ...] = (
    mlp,
    masked_attention,
    scanned_rnn,
    normalized_layers,
    missing_targets,
)
