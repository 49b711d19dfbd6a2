"""The Histograms dashboard, which also serves the Distributions tab.

- `dashboard`: the `Histograms` class with its routes, charts, table download and static export.
- `binning`: selection of steps, rebinning to a common grid and percentiles.
- `schemas`: requests and responses.

Start with `dashboard`. Uses `tracklight.plugin` and `tracklight.analysis.media`.
"""
