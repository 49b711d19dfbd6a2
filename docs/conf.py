"""The site: ``make docs`` builds it from these pages with Sphinx, once for each language."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_parser.parsers.sphinx_ import MystParser
from sphinx.application import Sphinx
from sphinx.ext.autodoc.mock import MockFinder
from sphinx.transforms import SphinxTransform

import tracklight

# Documents are kept to the end: looking for garbage takes 11 of 25 seconds of processor time.
gc.disable()

# The site is built without frameworks, whether they are installed or not. Modules import them on
# first use, also after autodoc has removed its own mocks.
FRAMEWORKS = ["anywidget", "jax", "keras", "lightning", "optuna", "tensorflow", "torch"]
sys.meta_path.insert(0, MockFinder([*FRAMEWORKS, "transformers"]))

project = "tracklight"
author = "The tracklight authors"
version = release = tracklight.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "locale", "**/.ipynb_checkpoints"]
templates_path = ["_templates"]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block"]

# The reference comes from docstrings. `name` is code in them, as in Markdown.
default_role = "code"
autodoc_default_options = {"members": True, "member-order": "bysource", "show-inheritance": False}
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
# A class without a docstring of its own has that of msgspec.Struct, an introduction to msgspec.
autodoc_inherit_docstrings = False
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False

# `-D language=zh_CN` builds the Chinese site; tools/check_translations.py lists what is missing.
language = "en"
locale_dirs = ["locale"]
gettext_compact = False
gettext_location = False

html_theme = "furo"
html_title = f"tracklight {release}"
html_favicon = "../web/public/icon.svg"
html_theme_options = {"navigation_with_keys": True}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "language.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
html_copy_source = False
html_show_copyright = False
# A page must not ask other sites for anything, and shows the same offline.
html_show_sphinx = False


class NotebookParser(MystParser):  # type: ignore[misc]
    """Reads a notebook as the Markdown page that its cells make; it is stored without outputs."""

    supported = ("ipynb",)

    def parse(self, inputstring: str, document: Any) -> None:
        parts = []
        for cell in json.loads(inputstring)["cells"]:
            text = "".join(cell["source"])
            parts.append(f"```python\n{text}\n```" if cell["cell_type"] == "code" else text)
        name = Path(document["source"]).name
        parts.insert(1, f"{{download}}`Download this notebook <{name}>`")
        super().parse("\n\n".join(parts), document)


class DarkImages(SphinxTransform):
    """Adds the image of the dark theme, such as ``scalars.dark.webp``; Furo shows one of both."""

    default_priority = 500

    def apply(self) -> None:
        folder = Path(self.document["source"]).parent
        for image in list(self.document.findall(nodes.image)):
            path = Path(image["uri"])
            dark = path.with_name(f"{path.stem}.dark{path.suffix}")
            # In another language, a light image in that language is better than a dark English one.
            suffix = "" if self.config.language == "en" else f".{self.config.language}"
            if not (folder / dark).with_suffix(f"{suffix}{path.suffix}").is_file():
                continue
            other = image.deepcopy()
            other["uri"] = dark.as_posix()
            image["classes"].append("only-light")
            other["classes"].append("only-dark")
            image.parent.insert(image.parent.index(image) + 1, other)


def setup(app: Sphinx) -> None:
    app.add_transform(DarkImages)
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
