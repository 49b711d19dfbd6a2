"""The Fairness dashboard: metrics per slice of logged evaluations and of TFMA folders.

- `dashboard`: the `Fairness` class with its routes, and the static export.
- `schemas`: requests and responses.
- `responses`: builds responses from evaluations; `export` writes CSV, JSON and Markdown.

Start with `dashboard`. Uses `tracklight.plugin`, `tracklight.analysis.fairness` (the evaluations of
a log) and `tracklight.analysis.evaluation` (metrics, differences, curves).
"""
