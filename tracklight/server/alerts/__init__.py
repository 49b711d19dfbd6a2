"""Alerts: rules on scalars that are checked while the server runs.

`rules` has the rules themselves, evaluates them on points and lists the alerts; `monitor` applies
them to the changes of a log and publishes the alerts; `webhook` sends them to another server.
Imports nothing from the rest of the server except the log and its live updates.
"""
