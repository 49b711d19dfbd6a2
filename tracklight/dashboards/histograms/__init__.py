"""The Histograms dashboard: how numbers are spread, step by step, as counts and as percentiles."""
