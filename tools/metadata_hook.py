"""Hatch's metadata hook: the project's links, and the README as an index page shows it.

An index page renders the README without the rest of the repository, so relative links become
absolute ones. Both need the URL of the public repository, from the first of these that is there:
`repository` in the hook's table in pyproject.toml, the environment variable TRACKLIGHT_REPOSITORY,
and the `origin` remote of the clone. Without one the package has no links, and what the README
links to is plain text. An sdist keeps its links in PKG-INFO, where Hatch finds them.
"""

from __future__ import annotations

import ipaddress
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hatchling.metadata.plugin.interface import MetadataHookInterface

VARIABLE = "TRACKLIGHT_REPOSITORY"

_IMAGE = re.compile(r"^!\[[^\]]*\]\((?!https?://)[^)]+\)\n+", re.MULTILINE)
_LINK = re.compile(r"(!?)\[([^\]]+)\]\((?!https?://|#)([^)]+)\)")
_LANGUAGES = re.compile(r"^English \| .*\n+", re.MULTILINE)
#: The short form of an SSH URL: git@host:owner/name.git. `C:\name` is a path.
_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[^@/:\\]{2,}):(?P<path>[^\\]+)")
_PRIVATE_SUFFIXES = (".internal", ".invalid", ".lan", ".local", ".localhost", ".test")
#: How hosts name a file of a branch and its raw content; the first whose name is in the host's.
_FILE_PATHS = (
    (("gitlab",), "-/blob/main", "-/raw/main"),
    (("bitbucket",), "src/main", "raw/main"),
    (("codeberg", "forgejo", "gitea"), "src/branch/main", "raw/branch/main"),
    (("",), "blob/main", "raw/main"),
)


class Repository(NamedTuple):
    """The public repository of the project."""

    #: Without a slash at the end; empty if there is none.
    url: str
    #: Where the URL is from, or why there is none.
    origin: str


class TracklightMetadataHook(MetadataHookInterface):
    """Fill in `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        if metadata.get("urls"):  # from the PKG-INFO of an sdist, as is the README
            return
        try:
            repository = get_repository(Path(self.root), str(self.config.get("repository", "")))
        except ValueError as error:
            sys.exit(f"tracklight: {error}")
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": render_readme(readme, repository.url),
        }
        metadata["urls"] = list_urls(repository.url)


def get_repository(root: Path, configured: str = "") -> Repository:
    """Return the URL of the public repository, and where it is from.

    Args:
        root: The root of the source tree.
        configured: The value of `repository` in pyproject.toml.

    Raises:
        ValueError: The configured value, or that of the variable, is not the URL of a repository.
    """
    variable = os.environ.get(VARIABLE, "")
    for value, origin in ((configured, "`repository` in pyproject.toml"), (variable, VARIABLE)):
        if value:
            url = parse_remote(value)
            if url is None:
                raise ValueError(f'{origin}: "{value}" is not an https or SSH URL of a repository')
            return Repository(url, origin)
    return _read_origin(root)


def _read_origin(root: Path) -> Repository:
    # Not that of a repository around an unpacked sdist.
    if not (root / ".git").exists():
        return Repository("", "the source tree is not a git clone")
    # The URL as written, without the rewriting of `url.*.insteadOf`.
    command = ["git", "-C", str(root), "config", "--get", "remote.origin.url"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return Repository("", "git is not installed")
    remote = answer.stdout.strip()
    if not remote:
        return Repository("", "the clone has no remote named origin")
    url = parse_remote(remote)
    if url is None:
        return Repository("", "the remote origin is not an https or SSH URL")
    host = urlsplit(url).hostname or ""
    if not is_public(host):
        return Repository("", f'the host of the remote origin, "{host}", is not public')
    return Repository(url, "the remote origin")


def parse_remote(remote: str) -> str | None:
    """Return the https URL of the repository that a git remote names, or None.

    User names and passwords are removed, as is the port of SSH.
    """
    if "://" in remote:
        try:
            parts = urlsplit(remote)
            host, path, port = parts.hostname or "", parts.path, parts.port
        except ValueError:
            return None
        if parts.scheme not in ("https", "ssh", "git+ssh"):
            return None
        if parts.scheme == "https" and port not in (None, 443):
            host += f":{port}"
    elif found := _SCP.fullmatch(remote):
        host, path = found["host"].lower(), found["path"]
    else:
        return None
    path = path.strip("/").removesuffix(".git")
    if not host or not path or re.search(r"[\s()<>]", host + path):
        return None
    return f"https://{host}/{path}"


def is_public(host: str) -> bool:
    """Return whether a host name can be one of the internet, judged by the name alone."""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith(_PRIVATE_SUFFIXES)


def list_urls(repository: str) -> dict[str, str]:
    """Return the project's links, under the labels that indexes know."""
    if not repository:
        return {}
    files, _ = _get_file_urls(repository)
    return {
        "Source": repository,
        "Documentation": f"{files}/docs/index.md",
        "Changelog": f"{files}/CHANGELOG.md",
        "Issues": f"{repository}/issues",
    }


def render_readme(text: str, repository: str) -> str:
    """Return the README with absolute links, or without relative ones if there is no repository."""
    if not repository:
        return _LINK.sub(r"\2", _IMAGE.sub("", _LANGUAGES.sub("", text)))
    files, raw_files = _get_file_urls(repository)

    def make_absolute(link: re.Match[str]) -> str:
        is_image, label, target = link.groups()
        return f"{is_image}[{label}]({raw_files if is_image else files}/{target})"

    return _LINK.sub(make_absolute, text)


def _get_file_urls(repository: str) -> tuple[str, str]:
    """Return the URLs below which files of the main branch are shown, and sent as they are."""
    host = urlsplit(repository).hostname or ""
    files, raw_files = next(
        (files, raw) for names, files, raw in _FILE_PATHS if any(name in host for name in names)
    )
    return f"{repository}/{files}", f"{repository}/{raw_files}"
