"""Alerts: rules on scalars that are checked while the server runs.

`rules` has the rules themselves and evaluates them on points; `monitor` applies them to the changes
of a log and publishes the alerts; `alert_log` lists them; `webhook` sends them to another server.
Imports nothing from the rest of the server except the log and its live updates.
"""
