"""Compare projections with scikit-learn: ``projection_program.py``. Prints the differences."""

from __future__ import annotations

import json
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, trustworthiness
from sklearn.neighbors import NearestNeighbors

from tracklight.analysis.embeddings.projections import (
    NeighborSearch,
    compute_pca,
    compute_trustworthiness,
)
from tracklight.analysis.embeddings.projections.manifold import TsneSettings, compute_tsne
from tracklight.types import Float32


def compare_components(vectors: Float32) -> dict[str, float]:
    theirs = PCA(10, svd_solver="full").fit(vectors.astype(np.float64))
    ours = compute_pca(vectors, 10)
    signs = np.sign(np.einsum("ij,ij->i", ours.directions, theirs.components_))
    apart = ours.directions - theirs.components_ * signs[:, None]
    shares = ours.explained_ratio - theirs.explained_variance_ratio_
    return {"directions": float(np.abs(apart).max()), "explained": float(np.abs(shares).max())}


def compare_neighbors(vectors: Float32, metric: str) -> float:
    theirs = NearestNeighbors(metric=metric, algorithm="brute").fit(vectors.astype(np.float64))
    distances, _ = theirs.kneighbors(n_neighbors=10)
    ours = NeighborSearch(vectors, metric).query_all(10)  # type: ignore[arg-type]
    return float(np.abs(ours.distances - distances).max())


def compare_layouts(vectors: Float32) -> dict[str, float]:
    theirs = TSNE(perplexity=20, max_iter=300, random_state=0).fit_transform(vectors)
    ours = compute_tsne(vectors, TsneSettings(perplexity=20, iterations=300))
    return {
        "theirs": float(trustworthiness(vectors, theirs)),
        "ours": float(trustworthiness(vectors, ours)),
        "measured": compute_trustworthiness(vectors, ours),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    vectors = load_digits().data.astype(np.float32)[:400]
    print(
        json.dumps(
            {
                **compare_components(vectors),
                "euclidean": compare_neighbors(vectors, "euclidean"),
                "cosine": compare_neighbors(vectors, "cosine"),
                **compare_layouts(vectors),
            }
        )
    )


if __name__ == "__main__":
    main()
