"""Model graphs: parsing, hierarchy, queries and comparison. No HTTP.

Start reading at `model` (the graph model) and `parsers` (logged graphs and model files; one module
per format). `graph_index` combines the rest for the Graphs dashboard, searches and traces:
`hierarchy` arranges nodes in scopes, `groups` computes what an open group shows, `statistics` and
`insights` summarize, `comparison` compares two graphs.

May import `tracklight.formats`, `tracklight.types`, `tracklight.errors` and `tracklight.util`.
"""
