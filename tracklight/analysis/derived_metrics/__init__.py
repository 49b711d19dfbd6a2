"""Derived metrics: expressions over scalar tags such as ``train/loss - validation/loss``.

`expression` parses and evaluates one expression on points; nothing of it is executed as Python.
`derived_log` adds the metrics of a log to its scalar tags, so that curves, columns, filters and
alerts all read them like logged ones. May import `tracklight.index` and what lies below.
"""
