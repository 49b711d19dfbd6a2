from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.analysis.embeddings.projections.clouds import (
    find_nearest_centres,
    make_clusters,
    measure_mixing,
)
from tracklight.analysis.embeddings.projections import forces, tsne
from tracklight.analysis.embeddings.projections.neighbors import compute_trustworthiness
from tracklight.analysis.embeddings.projections.tsne import TsneSettings, compute_tsne
from tracklight.analysis.jobs import JobCancelledError, JobProgress
from tracklight.errors import UsageError

FAST = TsneSettings(iterations=300, perplexity=10)


@pytest.mark.parametrize("dimensions", [2, 3])
def test_clusters_stay_together(dimensions: int) -> None:
    vectors, labels = make_clusters(200)
    layout = compute_tsne(vectors, TsneSettings(dimensions, iterations=300, perplexity=10))
    assert layout.shape == (200, dimensions)
    # A point or two may be left behind between clusters.
    assert (find_nearest_centres(layout, labels) == labels).mean() > 0.97
    assert compute_trustworthiness(vectors, layout) > 0.95


def test_the_same_seed_makes_the_same_layout() -> None:
    vectors, _ = make_clusters(60)
    first, second = (compute_tsne(vectors, FAST) for _ in range(2))
    assert np.array_equal(first, second)


def test_without_a_compiler_it_is_as_good(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_kernel(affinities: Any) -> forces.TsneForces:
        return forces.TsneForces(affinities, None)

    monkeypatch.setattr(tsne, "Forces", without_kernel)
    vectors, _ = make_clusters(100)
    assert compute_trustworthiness(vectors, compute_tsne(vectors, FAST)) > 0.93


def test_labels_can_pull_a_cloud_apart() -> None:
    vectors = np.random.default_rng(0).normal(size=(120, 5)).astype(np.float32)
    labels = np.arange(120) % 2

    plain = compute_tsne(vectors, FAST, labels)
    pulled = compute_tsne(vectors, TsneSettings(iterations=300, perplexity=10, pull=0.95), labels)
    assert measure_mixing(plain, labels) > 0.3
    assert measure_mixing(pulled, labels) < measure_mixing(plain, labels) / 2


@pytest.mark.parametrize("count", [3, 5, 10])
def test_few_points_are_laid_out_too(count: int) -> None:
    vectors, _ = make_clusters(count, 4)
    layout = compute_tsne(vectors, TsneSettings(iterations=50))
    assert np.isfinite(layout).all()
    assert len(np.unique(layout, axis=0)) == count


def test_points_that_are_all_the_same_are_laid_out_too() -> None:
    assert np.isfinite(
        compute_tsne(np.ones((20, 3), np.float32), TsneSettings(iterations=50))
    ).all()


def test_it_can_be_watched_and_stopped() -> None:
    vectors, _ = make_clusters(50)
    shown: list[np.ndarray] = []
    steps: list[tuple[str, int, int]] = []
    work = JobProgress(lambda *step: steps.append(step), shown.append, lambda: len(shown) == 3)
    with pytest.raises(JobCancelledError, match="moving points"):
        compute_tsne(vectors, FAST, progress=work)
    assert steps[-1] == ("moving points", 21, 300)
    assert not np.array_equal(shown[0], shown[2])


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (TsneSettings(dimensions=4), "2 or 3 dimensions, not 4"),
        (TsneSettings(perplexity=1), "a perplexity is more than 1"),
        (TsneSettings(iterations=0), "0 iterations"),
        (TsneSettings(early_exaggeration=0.5), "an exaggeration is at least 1"),
        (TsneSettings(learning_rate=-1), "a learning rate more than 0"),
        (TsneSettings(pull=2), "labels pull from 0 to 1"),
    ],
)
def test_settings_that_make_no_sense_are_told(settings: TsneSettings, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        compute_tsne(np.ones((9, 3), np.float32), settings)


def test_two_points_are_too_few() -> None:
    with pytest.raises(UsageError, match="2 points have no neighbours to choose from"):
        compute_tsne(np.ones((2, 3), np.float32))
