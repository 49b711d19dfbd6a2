"""Embeddings of a log: find them, read their vectors and labels, search and project them.

- `discovery` finds embeddings: in projector configs, checkpoints and other tensor files.
- `loading` reads the vectors, labels and sprite image of one embedding.
- `metadata`, `search` and `sprites` work on labels and images; `projector_files` parses the files
  that TensorBoard's projector writes.
- `projections` computes neighbors, PCA, t-SNE, UMAP and clusters of arrays.

Start with `discovery.discover_embeddings` and `loading.load_embedding`. The package may import
`formats`, `logdir`, `index` and the rest of `analysis`; nothing here knows about HTTP.
"""
