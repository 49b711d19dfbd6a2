"""What is worth knowing of the program that made a run: where, how, and from which source."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata

#: Packages that make a difference to a training, if the program has loaded them.
_PACKAGES = (
    "tracklight numpy torch tensorflow keras jax jaxlib flax lightning transformers datasets "
    "accelerate scikit-learn scipy pandas xgboost lightgbm"
).split()
_MODULE_OF_PACKAGE = {"scikit-learn": "sklearn"}
_MAX_SOURCE_BYTES = 1 << 20
_GIT_TIMEOUT_S = 2.0


def describe_environment() -> str:
    """A Markdown table. No environment variables but one: some of them hold secrets."""
    facts = {
        "command": " ".join([os.path.basename(sys.executable), *sys.argv]),
        "folder": os.getcwd(),
        "host": platform.node(),
        "system": platform.platform(),
        "Python": platform.python_version(),
        "processors": str(os.cpu_count()),
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        "git": find_git_revision() or "",
        **_list_versions(),
    }
    rows = [f"| {name} | `{_escape_cell(fact)}` |" for name, fact in facts.items() if fact]
    return "\n".join(["| | |", "|---|---|", *rows])


def read_main_source() -> str | None:
    """The program's main file as Markdown; None in a notebook, or if it is very long."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if path is None:
        return None
    try:
        if os.path.getsize(path) > _MAX_SOURCE_BYTES:
            return None
        with open(path, encoding="utf-8") as file:
            source = file.read()
    except (OSError, UnicodeDecodeError):
        return None
    fence = "`" * (_count_backticks(source) + 3)
    return f"`{path}`\n\n{fence}python\n{source}\n{fence}\n"


def find_git_revision() -> str | None:
    """The commit of the folder's git repository, with a plus if files in it differ."""
    head = _run_git("rev-parse", "HEAD")
    if not head:
        return None
    return head + ("+" if _run_git("status", "--porcelain", "--untracked-files=no") else "")


def _run_git(*arguments: str) -> str:
    try:
        answer = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


def _list_versions() -> dict[str, str]:
    found = {}
    for package in _PACKAGES:
        if _MODULE_OF_PACKAGE.get(package, package) in sys.modules:
            try:
                found[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
    return found


def _escape_cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("`", "'").split())


def _count_backticks(text: str) -> int:
    """The longest stretch of them, which a fence around the text has to outdo."""
    longest = 0
    while "`" * (longest + 1) in text:
        longest += 1
    return longest
