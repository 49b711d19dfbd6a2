"""Describe the environment of a run: command, machine, versions, git revision and source code.

Used by `tracklight.summary.runs`, which logs the results as text and as a `RunStart`.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from importlib import metadata

from tracklight.formats.hparams import RunStart
from tracklight.util.memory import find_pid_namespace

#: Packages whose versions are recorded if the program has imported them.
_PACKAGES = (
    "tracklight numpy torch tensorflow keras jax jaxlib flax lightning transformers datasets "
    "accelerate scikit-learn scipy pandas xgboost lightgbm"
).split()
_MODULE_OF_PACKAGE = {"scikit-learn": "sklearn"}
_MAX_SOURCE_BYTES = 1 << 20
_GIT_TIMEOUT_S = 2.0


def collect_run_start() -> RunStart:
    """Return what is known about the program and the machine."""
    return RunStart(
        command=" ".join([os.path.basename(sys.executable), *sys.argv]),
        directory=os.getcwd(),
        host=platform.node(),
        user=_find_user(),
        git_commit=find_git_revision() or "",
        platform=platform.platform(),
        python=platform.python_version(),
        versions=_list_versions(),
        pid=os.getpid(),
        pid_namespace=find_pid_namespace(),
        wall_time=time.time(),
    )


def describe_environment(start: RunStart) -> str:
    """Return a Markdown table of facts about the program and the machine.

    CUDA_VISIBLE_DEVICES is the only environment variable in it: others may contain secrets.
    """
    facts = {
        "command": start.command,
        "working directory": start.directory,
        "host": start.host,
        "user": start.user,
        "platform": start.platform,
        "Python": start.python,
        "CPU count": str(os.cpu_count()),
        "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", ""),
        "git": start.git_commit,
        **start.versions,
    }
    rows = [f"| {name} | `{_escape_cell(fact)}` |" for name, fact in facts.items() if fact]
    return "\n".join(["| | |", "|---|---|", *rows])


def read_main_source() -> str | None:
    """Return the program's main file as Markdown; None in a notebook or if it exceeds 1 MiB."""
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


def read_git_diff() -> str | None:
    """Return the changes of tracked files since the commit as Markdown; None above 1 MiB."""
    diff = _run_git("diff", "HEAD")
    if not diff or len(diff) > _MAX_SOURCE_BYTES:
        return None
    fence = "`" * (_count_backticks(diff) + 3)
    return f"{fence}diff\n{diff}\n{fence}\n"


def find_git_revision() -> str | None:
    """Return the commit hash of the working directory, with a plus if tracked files differ."""
    head = _run_git("rev-parse", "HEAD")
    if not head:
        return None
    return head + ("+" if _run_git("status", "--porcelain", "--untracked-files=no") else "")


def _find_user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container may have no entry for the user
        return ""


def _run_git(*arguments: str) -> str:
    try:
        result = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return result.stdout.strip()


def _list_versions() -> dict[str, str]:
    versions = {}
    for package in _PACKAGES:
        if _MODULE_OF_PACKAGE.get(package, package) in sys.modules:
            try:
                versions[package] = metadata.version(package)
            except metadata.PackageNotFoundError:
                continue
    return versions


def _escape_cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("`", "'").split())


def _count_backticks(text: str) -> int:
    """Return the length of the longest run of backticks; a code fence must be longer."""
    longest = 0
    while "`" * (longest + 1) in text:
        longest += 1
    return longest
