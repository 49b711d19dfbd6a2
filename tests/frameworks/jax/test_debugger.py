"""`tracklight.debugger` with JAX."""

from __future__ import annotations

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
