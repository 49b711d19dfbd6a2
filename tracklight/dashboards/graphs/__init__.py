"""The Graphs dashboard: model graphs, explored scope by scope.

- `dashboard`: the `Graphs` class with its routes, file downloads and the static export.
- `library`: graphs of the log and uploads, with a cache.
- `views`: groups, nodes, search, paths and comparisons. `overview`: the graph as a whole.
- `schemas`: requests and responses.

Start with `dashboard`. Uses `tracklight.plugin` and `tracklight.analysis.graphs`.
"""
