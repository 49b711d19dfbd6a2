"""The Profile dashboard: where the time and the memory of a program went.

Start with `dashboard.Profile`. `store` lists captures, loads them and caches what is computed from
them. Each tool of the dashboard is a `store.Tool` with its routes: `overview` (also input, hosts
and comparison), `timeline`, `ops` (also kernels, XLA programs and roofline) and `memory`. `schemas`
are the requests and responses.

The computations are in `tracklight.analysis.profiles`. Otherwise, this package may import what
`tracklight.plugin` offers to every dashboard.
"""
