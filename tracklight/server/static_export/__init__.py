"""Export a view of a log as files that open without a server: a folder, or one HTML file.

`view` reads from the URL of a page which runs it shows, and `contents` collects the responses that
the page needs for them and writes these and the page. `api` is the route that the page uses.
"""
