"""The web server: what the index knows, as JSON, as a live stream and as a page."""
