"""Workspaces and reports: documents with cards of all dashboards, stored beside the log.

`store.py` has the documents and their versions, `dashboard.py` the routes. The server does not
know the kinds of cards, except for notes, whose Markdown it renders: the page draws them.
"""
