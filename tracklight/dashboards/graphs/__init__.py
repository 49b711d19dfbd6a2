"""The Graphs dashboard: model graphs, explored scope by scope.

- `dashboard`: the `Graphs` class with its routes, file downloads and the static export.
- `library`: graphs of the log and uploads, with a cache.
- `overview`: totals, statistics, colors and changes of a graph as a whole.
- `views`: groups, nodes, search results and paths.
- `schemas`: requests and responses.

Start with `dashboard`. Uses `tracklight.plugin` and `tracklight.analysis.graphs`.
"""
