"""Numerical problems of a program: alerts and their root cause.

There are two sources: dumps of TensorFlow's debugger (`dump`), and recordings of
``tracklight.debugger`` in event files (`recording`). `alerts` and `root_cause` define the results
that both have in common; `dump_analysis` and `recording_analysis` compute them.

May import `tracklight.formats`, `tracklight.logdir` and `tracklight.analysis.source`.
"""
