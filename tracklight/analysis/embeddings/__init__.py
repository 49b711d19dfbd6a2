"""Embeddings of a log: find them, read their vectors and labels, search and project them.

- `discovery` finds embeddings: in projector configs, which it parses with the bookmarks of
  TensorBoard, in checkpoints and in other tensor files.
- `loading` reads the vectors, labels and sprite image of one embedding.
- `metadata`, `search` and `sprites` work on labels and images.
- `projections` computes neighbors, PCA, t-SNE, UMAP and clusters of arrays.

Start with `discovery.discover_embeddings` and `loading.load_embedding`. The package may import
`formats`, `logdir`, `index` and the rest of `analysis`; nothing here knows about HTTP.
"""
