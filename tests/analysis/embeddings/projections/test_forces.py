"""Forces by tree and by grid are those of all pairs."""

from __future__ import annotations

import importlib.util
from contextlib import closing
from types import ModuleType

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import make_clusters
from tracklight.analysis.embeddings.projections import forces, forces_python
from tracklight.analysis.embeddings.projections.affinities import Affinities, compute_affinities
from tracklight.analysis.embeddings.projections.forces import (
    KERNEL,
    TsneForces,
    compute_repulsion,
    find_grid,
)
from tracklight.analysis.embeddings.projections.neighbors import NeighborSearch
from tracklight.types import Float64

KERNELS = [None] if KERNEL is None else [None, KERNEL]


def make_affinities(count: int) -> Affinities:
    vectors, _ = make_clusters(count)
    return compute_affinities(NeighborSearch(vectors, "euclidean").query_all(15), 5)


def make_layout(count: int, dimensions: int, spread: float = 5) -> Float64:
    return np.random.default_rng(1).normal(0, spread, (count, dimensions))


def expect_gradient(layout: Float64, affinities: Affinities, exaggeration: float) -> Float64:
    apart = layout[:, None] - layout[None]
    near = 1 / (1 + (apart**2).sum(-1))
    weights = np.zeros(near.shape)
    for row in range(len(layout)):
        pairs = slice(affinities.indptr[row], affinities.indptr[row + 1])
        weights[row, affinities.indices[pairs]] = affinities.weights[pairs]
    total = near.sum() - len(layout)
    pull = exaggeration * weights * near - near**2 / total
    gradient: Float64 = 4 * (pull[..., None] * apart).sum(1)
    return gradient


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_gradient_is_that_of_all_pairs(kernel: ModuleType | None, dimensions: int) -> None:
    affinities, layout = make_affinities(300), make_layout(300, dimensions)
    expected = expect_gradient(layout, affinities, 3.0)
    with closing(TsneForces(affinities, kernel)) as acting:
        found = acting.compute_gradient(layout, 3.0)
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_many_points_are_put_on_a_grid(
    kernel: ModuleType | None, dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    affinities, layout = make_affinities(300), make_layout(300, dimensions, 2)
    expected = expect_gradient(layout, affinities, 1.0)
    with closing(TsneForces(affinities, kernel)) as acting:
        without = acting.compute_gradient(layout, 1.0)
        monkeypatch.setattr(forces, "_MIN_GRID_POINTS", 10)
        monkeypatch.setattr(forces, "_MAX_NODES_PER_POINT", 5000)
        found = acting.compute_gradient(layout, 1.0)
    assert not np.array_equal(without, found)
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()


@pytest.mark.parametrize("dimensions", [2, 3])
def test_points_too_far_apart_or_nowhere_have_no_grid(dimensions: int) -> None:
    layout = make_layout(2000, dimensions, 2)
    assert find_grid(layout) is not None
    layout[7] += 1e6
    assert find_grid(layout) is None
    layout[7] = np.nan
    assert find_grid(layout) is None
    layout[7] = np.inf
    assert find_grid(layout) is None


def test_without_a_compiler_many_pairs_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    affinities, layout = make_affinities(200), make_layout(200, 3)
    with closing(TsneForces(affinities, None)) as acting:
        whole = acting.compute_gradient(layout, 1.0)
        monkeypatch.setattr(forces, "_BLOCK_PAIRS", 900)
        np.testing.assert_allclose(acting.compute_gradient(layout, 1.0), whole, atol=1e-12)
    np.testing.assert_allclose(whole, expect_gradient(layout, affinities, 1.0), atol=1e-9)


@pytest.mark.parametrize("kernel", [forces_python] if KERNEL is None else [forces_python, KERNEL])
@pytest.mark.parametrize(
    ("dimensions", "spread"), [(2, 1e-4), (2, 1.0), (2, 4.0), (3, 0.1), (3, 2)]
)
def test_the_grid_is_close_to_all_pairs(
    kernel: ModuleType, dimensions: int, spread: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forces, "_MAX_NODES_PER_POINT", 5000)
    monkeypatch.setattr(forces, "_MIN_PARALLEL_VALUES", 1000)
    layout = make_layout(500, dimensions, spread)
    grid = find_grid(layout)
    assert grid is not None
    found, total = compute_repulsion(layout, grid, kernel)
    apart = layout[:, None] - layout[None]
    near = 1 / (1 + (apart**2).sum(-1))
    expected = ((near**2)[..., None] * apart).sum(1)
    assert np.abs(found - expected).max() < 0.02 * np.abs(expected).max()
    assert total == pytest.approx(near.sum() - 500, rel=1e-3)


@pytest.mark.skipif(KERNEL is None, reason="the kernel is not built")
@pytest.mark.parametrize("dimensions", [2, 3])
def test_the_compiled_grid_is_that_of_numpy(dimensions: int) -> None:
    assert KERNEL is not None
    layout = make_layout(2000, dimensions, 2)
    grid = find_grid(layout)
    assert grid is not None
    found, total = compute_repulsion(layout, grid, KERNEL)
    wanted, sum_of_all = compute_repulsion(layout, grid)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    assert total == pytest.approx(sum_of_all)


@pytest.mark.skipif(KERNEL is None, reason="the kernel is not built")
def test_grids_that_do_not_fit_are_refused() -> None:
    assert KERNEL is not None
    layout, origin = np.zeros((3, 2)), np.zeros(2)
    with pytest.raises(ValueError, match="as many nodes along each side"):
        KERNEL.spread(layout, 9, 0.1, origin, np.zeros(80))
    with pytest.raises(ValueError, match="two or three dimensions"):
        KERNEL.spread(np.zeros((3, 4)), 9, 0.1, np.zeros(4), np.zeros(9**4))
    with pytest.raises(ValueError, match="as many dimensions"):
        KERNEL.read(layout, 9, 0.1, origin, np.zeros(81), np.zeros((2, 2)))


@pytest.mark.skipif(KERNEL is None, reason="the kernel is not built")
def test_points_without_a_place_stay_within_the_grid() -> None:
    assert KERNEL is not None
    odd = np.array([[np.nan, np.inf], [-np.inf, -1e300]])
    around = np.zeros(81 + 2 * 64)  # writes outside of the grid would show on either side
    KERNEL.spread(odd, 9, 0.1, np.zeros(2), around[64:-64])
    assert not around[:64].any() and not around[-64:].any()
    KERNEL.read(odd, 9, 0.1, np.zeros(2), around[64:-64], np.zeros((2, 2)))


@pytest.mark.skipif(KERNEL is None, reason="the kernel is not built")
class TestTree:
    @pytest.mark.parametrize("dimensions", [2, 3])
    def test_points_at_one_place_push_the_others_only(self, dimensions: int) -> None:
        assert KERNEL is not None
        layout = np.zeros((50, dimensions))
        layout[40:, 0] = 1.0
        found = np.empty_like(layout)
        total = KERNEL.Tree(layout).repel(0, 50, 0.5, found)
        assert total == pytest.approx(40 * 39 + 10 * 9 + 2 * 400 / 2)
        np.testing.assert_allclose(found[0, 0], -10 / 4)
        np.testing.assert_allclose(found[49, 0], 40 / 4)

    def test_odd_layouts_are_refused_or_harmless(self) -> None:
        assert KERNEL is not None
        assert KERNEL.Tree(np.zeros((0, 2))).repel(0, 0, 0.5, np.zeros((0, 2))) == 0
        assert KERNEL.Tree(np.zeros((1, 2))).repel(0, 1, 0.5, np.zeros((1, 2))) == 0
        odd = np.full((9, 2), np.nan)
        KERNEL.Tree(odd).repel(0, 9, 0.5, np.zeros((9, 2)))
        with pytest.raises(ValueError, match="two or three dimensions"):
            KERNEL.Tree(np.zeros((3, 4)))
        with pytest.raises(ValueError, match="no such points"):
            KERNEL.Tree(np.zeros((3, 2))).repel(0, 4, 0.5, np.zeros((4, 2)))
        with pytest.raises(ValueError, match="as many dimensions"):
            KERNEL.Tree(np.zeros((3, 2))).repel(0, 3, 0.5, np.zeros((3, 3)))

    def test_pairs_that_are_not_there_are_refused(self) -> None:
        assert KERNEL is not None
        layout, out = np.zeros((2, 2)), np.zeros((2, 2))
        starts, others = np.array([0, 1, 9]), np.zeros(2, np.int32)
        weights = np.zeros(2, np.float32)
        with pytest.raises(ValueError, match="pairs that are not there"):
            KERNEL.attract(layout, starts, others, weights, 0, 2, out)
        with pytest.raises(ValueError, match="no such points"):
            KERNEL.attract(layout, starts[:2], others, weights, 0, 2, out)


def test_the_kernel_is_the_one_that_was_built() -> None:
    built = (
        importlib.util.find_spec("tracklight.analysis.embeddings.projections._forces") is not None
    )
    assert built == (KERNEL is not None)
