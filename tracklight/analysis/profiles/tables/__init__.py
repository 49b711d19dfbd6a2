"""A capture as tables, for programs and for the tools of the dashboard.

- `analyzed`: a trace and what is derived from it, each computed once
- `profile_data`: `tracklight.open(…).profile(…)`, tables of steps, devices, ops, kernels and memory
- `sql`, `sql_worker`: SQL queries over these tables

May import every other module of `analysis.profiles`.
"""
