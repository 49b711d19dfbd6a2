"""Projections of vectors to two or three dimensions, nearest neighbors and clustering.

Everything here works on arrays and knows nothing about logs, labels as text or HTTP; a long
computation reports its progress through `tracklight.analysis.jobs.JobProgress`. The layers are:

- `neighbors`: exact nearest neighbors.
- `forces`: weights of the edges between neighbors, and the gradient of t-SNE.
- `pca`, `manifold` (t-SNE and UMAP, and the graph of neighbors that they start from): the
  projections; `clustering`: k-means and HDBSCAN.
- `gpu`: neighbors and forces with PyTorch.

``_neighbors`` and ``_forces`` are compiled; ``kernels_python`` has the same functions in NumPy,
for installations without a compiler. Start with `pca.compute_pca` and `manifold.compute_tsne`.
"""
