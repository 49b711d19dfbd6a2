from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import (
    find_nearest_centres,
    make_clusters,
    measure_gaps,
    measure_mixing,
)
from tracklight.analysis.embeddings.projections.forces import KERNEL
from tracklight.analysis.embeddings.projections.neighbors import compute_trustworthiness
from tracklight.analysis.embeddings.projections.umap import (
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
    # A point or two may be left behind between clusters.
    assert (find_nearest_centres(layout, labels) == labels).mean() > 0.97
    assert compute_trustworthiness(vectors, layout) > 0.94


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_same_seed_makes_the_same_layout(kernel: ModuleType | None) -> None:
    vectors, _ = make_clusters(60)
    first, second = (compute_umap(vectors, FAST, kernel=kernel) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, compute_umap(vectors, UmapSettings(epochs=100, seed=1)))


def test_labels_can_pull_a_cloud_apart() -> None:
    vectors = np.random.default_rng(0).normal(size=(120, 5)).astype(np.float32)
    labels = np.arange(120) % 2

    plain = compute_umap(vectors, FAST, labels)
    pulled = compute_umap(vectors, UmapSettings(epochs=100, pull=0.95), labels)
    assert measure_mixing(pulled, labels) < measure_mixing(plain, labels) / 2


def test_points_come_as_close_as_they_may() -> None:
    vectors, _ = make_clusters(150, clusters=1)

    def crowding(min_dist: float) -> float:
        layout = compute_umap(vectors, UmapSettings(min_dist=min_dist, epochs=100))
        return float(np.median(measure_gaps(layout)[0]))

    assert crowding(0.0) < crowding(0.8) / 2


@pytest.mark.parametrize("count", [3, 5])
def test_few_points_and_equal_ones_are_laid_out_too(count: int) -> None:
    vectors, _ = make_clusters(count, 4)
    for points in (vectors, np.ones((20, 3), np.float32)):
        assert np.isfinite(compute_umap(points, UmapSettings(epochs=20))).all()


def test_it_can_be_watched_and_stopped() -> None:
    vectors, _ = make_clusters(50)
    shown: list[np.ndarray] = []
    steps: list[tuple[str, int, int]] = []
    work = JobProgress(lambda *step: steps.append(step), shown.append, lambda: len(shown) == 2)
    with pytest.raises(JobCancelledError, match="moving points"):
        compute_umap(vectors, FAST, progress=work)
    assert steps[-1] == ("moving points", 10, 100)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (UmapSettings(dimensions=1), "2 or 3 dimensions, not 1"),
        (UmapSettings(neighbours=1), "2 to 500 neighbours, not 1"),
        (UmapSettings(min_dist=1), "from 0 to less than 1"),
        (UmapSettings(epochs=0), "0 epochs"),
        (UmapSettings(pull=-1), "labels pull from 0 to 1"),
    ],
)
def test_settings_that_make_no_sense_are_told(settings: UmapSettings, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        compute_umap(np.ones((9, 3), np.float32), settings)


@pytest.mark.parametrize(
    ("min_dist", "a", "b"),
    # What umap-learn 0.5.12 finds by the curve_fit of SciPy.
    [(0.0, 1.9328084, 0.7904950), (0.1, 1.5769435, 0.8950609), (0.99, 0.1193053, 1.9163904)],
)
def test_the_curve_is_that_of_umap_learn(min_dist: float, a: float, b: float) -> None:
    assert fit_ab_params(min_dist) == pytest.approx((a, b), abs=1e-5)


@pytest.mark.skipif(KERNEL is None, reason="the kernel is not built")
def test_the_kernel_refuses_columns_that_do_not_fit() -> None:
    assert KERNEL is not None
    layout, places = np.zeros((2, 2)), np.zeros(3, np.int32)
    numbers, random = np.ones(3), np.ones(1, np.uint64)
    for columns in ((places, places[:1], numbers, numbers), (places, places, numbers[:2], numbers)):
        with pytest.raises(ValueError, match="one length"):
            KERNEL.settle(layout, *columns, 1.0, 1.0, 1.0, 1.0, 5, random)
    with pytest.raises(ValueError, match="not 0"):
        KERNEL.settle(layout, places, places, numbers, numbers, 1.0, 1.0, 1.0, 1.0, 5, random * 0)
