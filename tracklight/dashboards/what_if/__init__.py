"""The What-If dashboard: data sets and models, edited rows, counterfactuals, performance, fairness.

`WhatIf` in `dashboard` declares the routes. `schemas` has the requests and responses, `store` the
open data sets and their models, `responses` builds what is sent, `jobs` runs long computations, and
`static_export` lists the responses that a static export contains. The computations are in
`tracklight.analysis.what_if`.
"""
