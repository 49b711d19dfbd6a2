"""Forces of the Barnes-Hut tree and of the grid agree with those of all pairs."""

from __future__ import annotations

import importlib.util
from contextlib import closing
from types import ModuleType

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import make_clusters
from tracklight.analysis.embeddings.projections import NeighborSearch, forces, kernels_python
from tracklight.analysis.embeddings.projections.forces import (
    KERNEL,
    Affinities,
    TsneForces,
    compute_affinities,
    compute_repulsion,
    find_grid,
)
from tracklight.types import Float64

KERNELS = [None] if KERNEL is None else [None, KERNEL]


def make_affinities(count: int) -> Affinities:
    vectors, _ = make_clusters(count)
    return compute_affinities(NeighborSearch(vectors, "euclidean").query_all(15), 5)


def make_layout(count: int, dimensions: int, spread: float = 5) -> Float64:
    return np.random.default_rng(1).normal(0, spread, (count, dimensions))


def expect_gradient(layout: Float64, affinities: Affinities, exaggeration: float) -> Float64:
    differences = layout[:, None] - layout[None]
    potential = 1 / (1 + (differences**2).sum(-1))
    weights = np.zeros(potential.shape)
    for row in range(len(layout)):
        edges = slice(affinities.indptr[row], affinities.indptr[row + 1])
        weights[row, affinities.indices[edges]] = affinities.weights[edges]
    total = potential.sum() - len(layout)
    forces = exaggeration * weights * potential - potential**2 / total
    gradient: Float64 = 4 * (forces[..., None] * differences).sum(1)
    return gradient


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_gradient_agrees_with_all_pairs(kernel: ModuleType | None, dimensions: int) -> None:
    affinities, layout = make_affinities(300), make_layout(300, dimensions)
    expected = expect_gradient(layout, affinities, 3.0)
    with closing(TsneForces(affinities, kernel)) as forces_of:
        found = forces_of.compute_gradient(layout, 3.0)
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_gradient_on_a_grid_agrees_with_all_pairs(
    kernel: ModuleType | None, dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    affinities, layout = make_affinities(300), make_layout(300, dimensions, 2)
    expected = expect_gradient(layout, affinities, 1.0)
    with closing(TsneForces(affinities, kernel)) as forces_of:
        on_tree = forces_of.compute_gradient(layout, 1.0)
        monkeypatch.setattr(forces, "_MIN_GRID_POINTS", 10)
        monkeypatch.setattr(forces, "_MAX_NODES_PER_POINT", 5000)
        found = forces_of.compute_gradient(layout, 1.0)
    assert not np.array_equal(on_tree, found)
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_find_grid_returns_none_for_distant_or_non_finite_points(dimensions: int) -> None:
    layout = make_layout(2000, dimensions, 2)
    assert find_grid(layout) is not None
    layout[7] += 1e6
    assert find_grid(layout) is None
    layout[7] = np.nan
    assert find_grid(layout) is None
    layout[7] = np.inf
    assert find_grid(layout) is None


def test_numpy_gradient_is_computed_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    affinities, layout = make_affinities(200), make_layout(200, 3)
    with closing(TsneForces(affinities, None)) as forces_of:
        expected = forces_of.compute_gradient(layout, 1.0)
        monkeypatch.setattr(forces, "_BLOCK_PAIRS", 900)
        np.testing.assert_allclose(forces_of.compute_gradient(layout, 1.0), expected, atol=1e-12)
    np.testing.assert_allclose(expected, expect_gradient(layout, affinities, 1.0), atol=1e-9)


@pytest.mark.parametrize("kernel", [kernels_python] if KERNEL is None else [kernels_python, KERNEL])
@pytest.mark.parametrize(
    ("dimensions", "spread"), [(2, 1e-4), (2, 1.0), (2, 4.0), (3, 0.1), (3, 2)]
)
def test_grid_repulsion_agrees_with_all_pairs(
    kernel: ModuleType, dimensions: int, spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forces, "_MAX_NODES_PER_POINT", 5000)
    monkeypatch.setattr(forces, "_MIN_PARALLEL_VALUES", 1000)
    layout = make_layout(500, dimensions, spread)
    grid = find_grid(layout)
    assert grid is not None
    found, total = compute_repulsion(layout, grid, kernel)
    differences = layout[:, None] - layout[None]
    potential = 1 / (1 + (differences**2).sum(-1))
    expected = ((potential**2)[..., None] * differences).sum(1)
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()
    assert total == pytest.approx(potential.sum() - 500, rel=1e-3)


@pytest.mark.skipif(KERNEL is None, reason="the kernel is not built")
@pytest.mark.parametrize("dimensions", [2, 3])
def test_compiled_grid_agrees_with_numpy(dimensions: int) -> None:
    assert KERNEL is not None
    layout = make_layout(2000, dimensions, 2)
    grid = find_grid(layout)
    assert grid is not None
    found, total = compute_repulsion(layout, grid, KERNEL)
    expected, expected_total = compute_repulsion(layout, grid)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert total == pytest.approx(expected_total)


@pytest.mark.skipif(KERNEL is None, reason="the kernel is not built")
def test_kernel_rejects_grids_that_do_not_fit() -> None:
    assert KERNEL is not None
    layout, origin = np.zeros((3, 2)), np.zeros(2)
    with pytest.raises(ValueError, match="same number of nodes along each side"):
        KERNEL.spread_points(layout, 9, 0.1, origin, np.zeros(80))
    with pytest.raises(ValueError, match="two or three dimensions"):
        KERNEL.spread_points(np.zeros((3, 4)), 9, 0.1, np.zeros(4), np.zeros(9**4))
    with pytest.raises(ValueError, match="shape of the layout"):
        KERNEL.interpolate_forces(layout, 9, 0.1, origin, np.zeros(81), np.zeros((2, 2)))


@pytest.mark.skipif(KERNEL is None, reason="the kernel is not built")
def test_kernel_stays_within_the_grid_for_non_finite_points() -> None:
    assert KERNEL is not None
    layout = np.array([[np.nan, np.inf], [-np.inf, -1e300]])
    padded = np.zeros(81 + 2 * 64)  # writes outside of the grid would show on either side
    KERNEL.spread_points(layout, 9, 0.1, np.zeros(2), padded[64:-64])
    assert not padded[:64].any() and not padded[-64:].any()
    KERNEL.interpolate_forces(layout, 9, 0.1, np.zeros(2), padded[64:-64], np.zeros((2, 2)))


@pytest.mark.skipif(KERNEL is None, reason="the kernel is not built")
class TestBarnesHutTree:
    @pytest.mark.parametrize("dimensions", [2, 3])
    def test_points_at_the_same_position_do_not_repel_each_other(self, dimensions: int) -> None:
        assert KERNEL is not None
        layout = np.zeros((50, dimensions))
        layout[40:, 0] = 1.0
        found = np.empty_like(layout)
        total = KERNEL.BarnesHutTree(layout).compute_repulsion(0, 50, 0.5, found)
        assert total == pytest.approx(40 * 39 + 10 * 9 + 2 * 400 / 2)
        np.testing.assert_allclose(found[0, 0], -10 / 4)
        np.testing.assert_allclose(found[49, 0], 40 / 4)

    def test_rejects_or_survives_unusual_layouts(self) -> None:
        assert KERNEL is not None
        assert (
            KERNEL.BarnesHutTree(np.zeros((0, 2))).compute_repulsion(0, 0, 0.5, np.zeros((0, 2)))
            == 0
        )
        assert (
            KERNEL.BarnesHutTree(np.zeros((1, 2))).compute_repulsion(0, 1, 0.5, np.zeros((1, 2)))
            == 0
        )
        KERNEL.BarnesHutTree(np.full((9, 2), np.nan)).compute_repulsion(0, 9, 0.5, np.zeros((9, 2)))
        with pytest.raises(ValueError, match="two or three dimensions"):
            KERNEL.BarnesHutTree(np.zeros((3, 4)))
        with pytest.raises(ValueError, match="outside of the layout"):
            KERNEL.BarnesHutTree(np.zeros((3, 2))).compute_repulsion(0, 4, 0.5, np.zeros((4, 2)))
        with pytest.raises(ValueError, match="shape of the layout"):
            KERNEL.BarnesHutTree(np.zeros((3, 2))).compute_repulsion(0, 3, 0.5, np.zeros((3, 3)))

    def test_rejects_affinities_out_of_range(self) -> None:
        assert KERNEL is not None
        layout, result = np.zeros((2, 2)), np.zeros((2, 2))
        indptr, indices = np.array([0, 1, 9]), np.zeros(2, np.int32)
        weights = np.zeros(2, np.float32)
        with pytest.raises(ValueError, match="outside of the indices"):
            KERNEL.compute_attraction(layout, indptr, indices, weights, 0, 2, result)
        with pytest.raises(ValueError, match="outside of the layout"):
            KERNEL.compute_attraction(layout, indptr[:2], indices, weights, 0, 2, result)


def test_kernel_is_used_if_it_was_built() -> None:
    built = (
        importlib.util.find_spec("tracklight.analysis.embeddings.projections._forces") is not None
    )
    assert built == (KERNEL is not None)
