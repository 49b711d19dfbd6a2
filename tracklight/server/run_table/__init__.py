"""The table of runs: which columns there are, and queries over all of its rows.

`run_columns` reads hyperparameters and metrics, `run_states` tells which runs are running, `table`
puts all columns of a run together, `filter_expression` and `queries` select, sort and group rows,
and `api` has the routes. Rows are encoded as columns of numbers, which NumPy filters and sorts
at once; a response contains one page of rows only. Imports nothing from the
rest of the server except the log, its notes and export formats.
"""
