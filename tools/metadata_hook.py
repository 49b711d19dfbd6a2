"""Hatch's metadata hook: the project's links, and the README as an index page shows it.

An index page renders the README without the rest of the repository, so relative links become
absolute ones. Both need the URL of the repository, `repository` in the hook's table in
pyproject.toml. While it is empty the package has no links, and what the README links to is plain
text.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_IMAGE = re.compile(r"^!\[[^\]]*\]\((?!https?://)[^)]+\)\n+", re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\]]+)\]\((?!https?://|#)([^)]+)\)")
_LANGUAGES = re.compile(r"^English \| .*\n+", re.MULTILINE)


class TracklightMetadataHook(MetadataHookInterface):
    """Fill in `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = str(self.config.get("repository", "")).rstrip("/")
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": render_readme(readme, repository),
        }
        metadata["urls"] = list_urls(repository)


def list_urls(repository: str) -> dict[str, str]:
    """Return the project's links, under the labels that indexes know."""
    if not repository:
        return {}
    return {
        "Source": repository,
        "Documentation": f"{repository}/blob/main/docs/index.md",
        "Changelog": f"{repository}/blob/main/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def render_readme(text: str, repository: str) -> str:
    """Return the README with absolute links, or without relative ones if there is no repository."""
    if not repository:
        return _LINK.sub(r"\2", _IMAGE.sub("", _LANGUAGES.sub("", text)))

    def make_absolute(link: re.Match[str]) -> str:
        is_image, label, target = link.groups()
        kind = "raw" if is_image else "blob"
        return f"{is_image}[{label}]({repository}/{kind}/main/{target})"

    return _LINK.sub(make_absolute, text)
