"""The Custom scalars dashboard: charts in the layout that runs logged.

Everything is in `dashboard`. Uses `tracklight.plugin` and `tracklight.analysis.media`.
"""
