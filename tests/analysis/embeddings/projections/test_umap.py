from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import (
    get_nearest_centers,
    make_clusters,
    measure_mixing,
    measure_nearest_distances,
)
from tracklight.analysis.embeddings.projections import compute_trustworthiness
from tracklight.analysis.embeddings.projections.forces import KERNEL
from tracklight.analysis.embeddings.projections.manifold import (
    UmapSettings,
    compute_umap,
    fit_ab_params,
)
from tracklight.analysis.jobs import JobCancelledError, JobProgress
from tracklight.errors import UsageError

KERNELS = [None] if KERNEL is None else [None, KERNEL]
FAST = UmapSettings(epochs=100)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dimensions", [2, 3])
def test_clusters_stay_together(kernel: ModuleType | None, dimensions: int) -> None:
    vectors, labels = make_clusters(200)
    layout = compute_umap(vectors, UmapSettings(dimensions, epochs=100), kernel=kernel)
    assert layout.shape == (200, dimensions)
    # A few points may end up between clusters.
    assert (get_nearest_centers(layout, labels) == labels).mean() > 0.97
    assert compute_trustworthiness(vectors, layout) > 0.94


@pytest.mark.parametrize("kernel", KERNELS)
def test_equal_seeds_give_equal_layouts(kernel: ModuleType | None) -> None:
    vectors, _ = make_clusters(60)
    first, second = (compute_umap(vectors, FAST, kernel=kernel) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, compute_umap(vectors, UmapSettings(epochs=100, seed=1)))


def test_labels_separate_a_cloud() -> None:
    vectors = np.random.default_rng(0).normal(size=(120, 5)).astype(np.float32)
    labels = np.arange(120) % 2

    plain = compute_umap(vectors, FAST, labels)
    supervised = compute_umap(vectors, UmapSettings(epochs=100, target_weight=0.95), labels)
    assert measure_mixing(supervised, labels) < measure_mixing(plain, labels) / 2


def test_min_dist_separates_points() -> None:
    vectors, _ = make_clusters(150, clusters=1)

    def measure_crowding(min_dist: float) -> float:
        layout = compute_umap(vectors, UmapSettings(min_dist=min_dist, epochs=100))
        return float(np.median(measure_nearest_distances(layout)[0]))

    assert measure_crowding(0.0) < measure_crowding(0.8) / 2


@pytest.mark.parametrize("count", [3, 5])
def test_layout_of_few_or_equal_points(count: int) -> None:
    vectors, _ = make_clusters(count, 4)
    for points in (vectors, np.ones((20, 3), np.float32)):
        assert np.isfinite(compute_umap(points, UmapSettings(epochs=20))).all()


def test_reports_progress_and_can_be_cancelled() -> None:
    vectors, _ = make_clusters(50)
    shown: list[np.ndarray] = []
    steps: list[tuple[str, int, int]] = []
    progress = JobProgress(lambda *step: steps.append(step), shown.append, lambda: len(shown) == 2)
    with pytest.raises(JobCancelledError, match="optimizing layout"):
        compute_umap(vectors, FAST, progress=progress)
    stage, *counts = steps[-1]
    assert (str(stage), counts) == ("optimizing layout", [10, 100])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (UmapSettings(dimensions=1), "2 or 3 dimensions, not 1"),
        (UmapSettings(n_neighbors=1), "from 2 to 500, not 1"),
        (UmapSettings(min_dist=1), "at least 0 and less than 1"),
        (UmapSettings(epochs=0), "epochs must be from 1"),
        (UmapSettings(target_weight=-1), "label weight must be from 0 to 1"),
    ],
)
def test_rejects_invalid_settings(settings: UmapSettings, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compute_umap(np.ones((9, 3), np.float32), settings)


@pytest.mark.parametrize(
    ("min_dist", "a", "b"),
    # Results of umap-learn 0.5.12, which uses scipy.optimize.curve_fit.
    [(0.0, 1.9328084, 0.7904950), (0.1, 1.5769435, 0.8950609), (0.99, 0.1193053, 1.9163904)],
)
def test_curve_parameters_agree_with_umap_learn(min_dist: float, a: float, b: float) -> None:
    assert fit_ab_params(min_dist) == pytest.approx((a, b), abs=1e-5)


@pytest.mark.skipif(KERNEL is None, reason="the kernel is not built")
def test_kernel_rejects_arrays_that_do_not_fit() -> None:
    assert KERNEL is not None
    layout, ends = np.zeros((2, 2)), np.zeros(3, np.int32)
    periods, random_state = np.ones(3), np.ones(1, np.uint64)
    for columns in ((ends, ends[:1], periods, periods), (ends, ends, periods[:2], periods)):
        with pytest.raises(ValueError, match="same length"):
            KERNEL.run_umap_epoch(layout, *columns, 1.0, 1.0, 1.0, 1.0, 5, random_state)
    with pytest.raises(ValueError, match="not be 0"):
        KERNEL.run_umap_epoch(
            layout, ends, ends, periods, periods, 1.0, 1.0, 1.0, 1.0, 5, random_state * 0
        )


@pytest.mark.skipif(KERNEL is None, reason="the kernel is not built")
@pytest.mark.parametrize("dimensions", [2, 3])
@pytest.mark.parametrize("spread", [1e-6, 1.0, 1e3])
def test_kernel_repels_from_random_points(dimensions: int, spread: float) -> None:
    assert KERNEL is not None
    a, b, rate, samples = 1.577, 0.895, 0.7, 20
    layout = spread * np.random.default_rng(1).standard_normal((50, dimensions))
    before, state = layout.copy(), 7
    forces = np.zeros(dimensions)
    for _ in range(samples):  # xorshift64*
        state ^= state >> 12
        state ^= state << 25 & 2**64 - 1
        state ^= state >> 27
        other = (state * 2685821657736338717 % 2**64 >> 32) * len(layout) >> 32
        difference = before[0] - before[other]
        square = float(difference @ difference)
        force = 2 * b / ((0.001 + square) * (1 + a * square**b)) * difference
        forces += np.clip(force, -4, 4)
    # Both ends of the edge are the same point, so they do not attract each other.
    ends, due = np.zeros(1, np.int32), np.ones(1)
    random_state = np.array([7], np.uint64)
    KERNEL.run_umap_epoch(layout, ends, ends, due, due, 1.0, rate, a, b, samples, random_state)
    np.testing.assert_allclose(layout[0] - before[0], rate * forces, rtol=1e-4, atol=1e-7)
    np.testing.assert_array_equal(layout[1:], before[1:])
