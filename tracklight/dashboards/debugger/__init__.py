"""The Debugger dashboard: what went wrong with the numbers of a program.

Start with `dashboard.Debugger`. `schemas` are the requests and responses; `responses`,
`dump_responses` and `recording_responses` build them from the analyses in
`tracklight.analysis.debugger`.
"""
