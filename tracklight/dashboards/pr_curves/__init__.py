"""The PR curves dashboard: precision and recall of a classifier at every threshold.

- `dashboard`: the `PrCurves` class with its routes, curve reading, metrics over steps and the
  static export.
- `schemas`: requests and responses.

Start with `dashboard`. Uses `tracklight.plugin`, `tracklight.analysis.pr_curves` and
`tracklight.analysis.media`.
"""
