"""What is recorded of a program and the machine that runs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tracklight.profiler import process
from tracklight.profiler.process import collect_run_start, read_git_diff, read_main_source


@pytest.mark.parametrize(
    ("content", "fence"),
    [(b"print(1)\n", "```"), (b'"""```"""\n', "``````")],
    ids=["plain", "fence"],
)
def test_source_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, fence: str
) -> None:
    main = ModuleType("__main__")
    main.__file__ = str(tmp_path / "train.py")
    (tmp_path / "train.py").write_bytes(content)
    monkeypatch.setitem(sys.modules, "__main__", main)
    source = read_main_source()
    assert source == f"`{main.__file__}`\n\n{fence}python\n{content.decode()}\n{fence}\n"


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"#" * (1 << 20) + b"\n"])
def test_source_that_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert read_main_source() is None, "a notebook has no main file"
    main.__file__ = str(tmp_path / "train.py")
    if content is not None:
        (tmp_path / "train.py").write_bytes(content)
    assert read_main_source() is None


def test_changes_of_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_git_diff() is None, "not a repository"
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "Add a file"]):
        (tmp_path / "train.py").write_text("rate = 1\n")
        identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *arguments], check=True)
    assert read_git_diff() is None, "nothing was changed"
    (tmp_path / "train.py").write_text("rate = 2\n")
    diff = read_git_diff()
    assert diff is not None
    assert "\n-rate = 1\n+rate = 2\n" in diff
    (tmp_path / "train.py").write_bytes("# caf\xe9\n".encode("latin-1"))
    diff = read_git_diff()
    assert diff is not None
    assert "\n-rate = 1\n+# caf\ufffd\n" in diff
    monkeypatch.setattr(process, "_MAX_SOURCE_BYTES", 10)
    assert read_git_diff() is None


def test_user_of_a_container_may_have_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    pwd = pytest.importorskip("pwd")

    def find(uid: int) -> None:
        raise KeyError(f"getpwuid(): uid not found: {uid}")

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", find)
    assert collect_run_start().user == ""
