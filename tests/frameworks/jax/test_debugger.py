"""`tracklight.debugger` with JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.frameworks.jax.debugger_zoo import BROKEN, HEALTHY, Program
from tests.frameworks.recordings import analyze, check_root_cause, open_recording
from tracklight.debugger import check_numerics, watch
from tracklight.errors import NonFiniteError
from tracklight.formats.tensor_health import get_histogram_edges


@pytest.mark.parametrize("program", BROKEN, ids=lambda program: program.__name__)
def test_finds_the_root_cause(program: Program, tmp_path: Path) -> None:
    program(tmp_path)
    check_root_cause(analyze(tmp_path).root_cause, *BROKEN[program])


@pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.__name__)
def test_healthy_programs_cause_no_alert(program: Program, tmp_path: Path) -> None:
    program(tmp_path)
    assert list(analyze(tmp_path).alerts) == []


def test_returns_what_the_function_returns(tmp_path: Path) -> None:
    def function(tree: Any, scale: float, *, name: str) -> Any:
        return {"a": tree["x"] * scale, "b": (tree["y"], name == "n")}

    tree = {"x": jnp.arange(3.0), "y": jnp.arange(2)}
    watched = watch(function, tmp_path)
    expected, found = function(tree, 2.0, name="n"), watched(tree, 2.0, name="n")
    watched.close()
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(np.testing.assert_array_equal, found, expected)


def double(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def doubled(*args: Any) -> Any:
        return jax.tree.map(lambda it: 2 * it, function(*args))

    return doubled


@pytest.mark.parametrize("decorate", [jax.value_and_grad, double, jax.jit, jax.checkpoint])
def test_decorators_of_the_function_apply(
    tmp_path: Path, decorate: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    function = decorate(lambda x: jnp.log(x).sum())
    x = jnp.arange(1.0, 4.0)
    with watch(function, tmp_path) as watched:
        found = watched(x)
    expected = function(x)
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found, expected)
    assert any(it.type == "log" for it in open_recording(tmp_path).layout.tensors)


def test_statistics_are_those_of_the_arrays(tmp_path: Path) -> None:
    x = jax.random.normal(jax.random.key(0), (50, 4))
    watched = watch(lambda x: jnp.exp(x), tmp_path)
    watched(x)
    watched.close()
    recording = open_recording(tmp_path)
    row = next(i for i, it in enumerate(recording.layout.tensors) if it.type == "exp")
    y = np.exp(np.asarray(x))
    expected = [y.min(), y.max(), y.mean(), y.std(), np.linalg.norm(y)]
    np.testing.assert_allclose(recording.health[0, row, 6:11], expected, rtol=1e-4)
    assert recording.layout.tensors[row].source.path == __file__
    assert __file__ in recording.source_files
    steps, histograms = recording.read_histograms(row, limit=10)
    assert steps.tolist() == [0]
    edges = get_histogram_edges()
    expected_shares = np.histogram(y, edges)[0] / y.size
    np.testing.assert_allclose(histograms[0] / 255, expected_shares, atol=0.01)


def test_check_numerics_works_under_jit() -> None:
    @jax.jit
    def function(x: Any) -> Any:
        return check_numerics(jnp.log(x), "log") * 2

    np.testing.assert_allclose(function(jnp.ones(3)), 0)
    with pytest.raises((NonFiniteError, jax.errors.JaxRuntimeError), match="log contains 1 Inf"):
        jax.block_until_ready(function(jnp.array([1.0, 0.0])))
        jax.effects_barrier()
    with pytest.raises(NonFiniteError, match="contains 2 NaN of 3"):
        check_numerics(jnp.array([jnp.nan, jnp.nan, 1]))


def test_steps_between_those_of_the_schedule_run_as_they_are(tmp_path: Path) -> None:
    watched = watch(lambda x: jnp.exp(x), tmp_path, first=1, every=3, history=0)
    for step in range(5):
        np.testing.assert_allclose(watched(jnp.float32(step)), np.exp(np.float32(step)), rtol=1e-6)
    watched.close()
    assert open_recording(tmp_path).step.tolist() == [0, 3]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"input", "output", "gradient"}),
        ({"gradients": False}, {"input", "output"}),
        ({"parameters": False}, {"output", "gradient"}),
        ({"types": ["log"], "parameters": False, "gradients": False}, {"output"}),
    ],
)
def test_records_the_roles_that_were_chosen(
    tmp_path: Path, options: dict[str, Any], expected: set[str]
) -> None:
    function = jax.value_and_grad(lambda x: jnp.log(x * 2).sum())
    watched = watch(function, tmp_path, **options)
    watched(jnp.ones(3))
    watched.close()
    tensors = open_recording(tmp_path).layout.tensors
    assert {it.role for it in tensors} == expected
    if "types" in options:
        assert [it.type for it in tensors] == ["log"]


def test_filter_that_matches_nothing(tmp_path: Path) -> None:
    with watch(lambda x: x * 2, tmp_path, names="^nothing$") as watched:
        assert watched(jnp.float32(2)) == 4
    assert open_recording(tmp_path).layout.tensors == ()


@pytest.mark.parametrize("dtype", [jnp.float16, jnp.bfloat16])
def test_counts_values_beyond_the_range_of_half_precision(tmp_path: Path, dtype: Any) -> None:
    limits = jnp.finfo(dtype)
    x = jnp.array([1, limits.max, -limits.max, limits.tiny / 2, 0], dtype)
    with watch(lambda x: x * 1, tmp_path) as watched:
        watched(x)
    recording = open_recording(tmp_path)
    assert recording.layout.tensors[0].dtype == x.dtype.name
    assert recording.get_stat("overflow")[0, 0] == 2
    assert recording.get_stat("underflow")[0, 0] == 1


def test_check_numerics_of_integers_under_jit() -> None:
    function = jax.jit(lambda x: check_numerics({"n": x, "y": jnp.sqrt(x)})["y"])
    np.testing.assert_allclose(function(jnp.array([4, 9])), [2, 3])
