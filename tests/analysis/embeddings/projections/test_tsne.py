from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.analysis.embeddings.projections.point_clouds import (
    get_nearest_centers,
    make_clusters,
    measure_mixing,
)
from tracklight.analysis.embeddings.projections import compute_trustworthiness, forces, manifold
from tracklight.analysis.embeddings.projections.manifold import TsneSettings, compute_tsne
from tracklight.analysis.jobs import JobCancelledError, JobProgress
from tracklight.errors import UsageError

FAST = TsneSettings(iterations=300, perplexity=10)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_clusters_stay_together(dimensions: int) -> None:
    vectors, labels = make_clusters(200)
    layout = compute_tsne(vectors, TsneSettings(dimensions, iterations=300, perplexity=10))
    assert layout.shape == (200, dimensions)
    # A few points may end up between clusters.
    assert (get_nearest_centers(layout, labels) == labels).mean() > 0.97
    assert compute_trustworthiness(vectors, layout) > 0.95


def test_equal_seeds_give_equal_layouts() -> None:
    vectors, _ = make_clusters(60)
    first, second = (compute_tsne(vectors, FAST) for _ in range(2))
    assert np.array_equal(first, second)


def test_layout_without_the_kernel_is_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_kernel(affinities: Any) -> forces.TsneForces:
        return forces.TsneForces(affinities, None)

    monkeypatch.setattr(manifold, "TsneForces", without_kernel)
    vectors, _ = make_clusters(100)
    assert compute_trustworthiness(vectors, compute_tsne(vectors, FAST)) > 0.93


def test_labels_separate_a_cloud() -> None:
    vectors = np.random.default_rng(0).normal(size=(120, 5)).astype(np.float32)
    labels = np.arange(120) % 2

    plain = compute_tsne(vectors, FAST, labels)
    settings = TsneSettings(iterations=300, perplexity=10, target_weight=0.95)
    supervised = compute_tsne(vectors, settings, labels)
    assert measure_mixing(plain, labels) > 0.3
    assert measure_mixing(supervised, labels) < measure_mixing(plain, labels) / 2


@pytest.mark.parametrize("count", [3, 5, 10])
def test_layout_of_few_points(count: int) -> None:
    vectors, _ = make_clusters(count, 4)
    layout = compute_tsne(vectors, TsneSettings(iterations=50))
    assert np.isfinite(layout).all()
    assert len(np.unique(layout, axis=0)) == count


def test_layout_of_equal_points() -> None:
    assert np.isfinite(
        compute_tsne(np.ones((20, 3), np.float32), TsneSettings(iterations=50))
    ).all()


def test_reports_progress_and_can_be_cancelled() -> None:
    vectors, _ = make_clusters(50)
    shown: list[np.ndarray] = []
    steps: list[tuple[str, int, int]] = []
    progress = JobProgress(lambda *step: steps.append(step), shown.append, lambda: len(shown) == 3)
    with pytest.raises(JobCancelledError, match="optimizing layout"):
        compute_tsne(vectors, FAST, progress=progress)
    stage, *counts = steps[-1]
    assert (str(stage), counts) == ("optimizing layout", [21, 300])
    assert not np.array_equal(shown[0], shown[2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (TsneSettings(dimensions=4), "2 or 3 dimensions, not 4"),
        (TsneSettings(perplexity=1), "perplexity must be more than 1"),
        (TsneSettings(iterations=0), "iterations must be from 1"),
        (TsneSettings(early_exaggeration=0.5), "exaggeration must be at least 1"),
        (TsneSettings(learning_rate=-1), "the learning rate positive"),
        (TsneSettings(target_weight=2), "label weight must be from 0 to 1"),
    ],
)
def test_rejects_invalid_settings(settings: TsneSettings, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compute_tsne(np.ones((9, 3), np.float32), settings)


def test_rejects_two_points() -> None:
    with pytest.raises(UsageError, match="at least 3 points, not 2"):
        compute_tsne(np.ones((2, 3), np.float32))
