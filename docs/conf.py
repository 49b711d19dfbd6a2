"""The site: ``make docs`` builds it from these pages with Sphinx."""

from __future__ import annotations

import tracklight

project = "tracklight"
author = "The tracklight authors"
version = release = tracklight.__version__

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"tracklight {release}"
html_favicon = "../web/public/icon.svg"
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
html_show_copyright = False
# A page must not ask other sites for anything, and shows the same offline.
html_show_sphinx = False
