from __future__ import annotations

import os
from pathlib import Path

import pytest

from tracklight.errors import UsageError
from tracklight.logdir.access import LogdirSpec, Root, _is_drive, parse_roots


def names(spec: LogdirSpec) -> list[str]:
    return [root.name for root in parse_roots(spec)]


def test_single_path_becomes_absolute_and_has_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_roots("logs/") == (Root("", str(tmp_path / "logs")),)
    assert parse_roots(Path("logs")) == parse_roots("logs")


def test_expands_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert parse_roots("~/logs")[0].path == str(tmp_path / "logs")
    assert parse_roots("mine:~/logs,~/other")[0].path == str(tmp_path / "logs")


def test_parent_of_link_is_parent_of_target(tmp_path: Path) -> None:
    (tmp_path / "far" / "target").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "target")
    assert parse_roots(f"{tmp_path}/link/..")[0].path == os.path.realpath(tmp_path / "far")
    assert parse_roots(f"{tmp_path}/link")[0].path == str(tmp_path / "link")


def test_named_roots() -> None:
    assert parse_roots("a:/logs/x, b:/logs/y") == (Root("a", "/logs/x"), Root("b", "/logs/y"))
    assert parse_roots("only:/logs/x") == (Root("only", "/logs/x"),)
    assert parse_roots({"a": "/x", "b": Path("/y")}) == (Root("a", "/x"), Root("b", "/y"))


@pytest.mark.parametrize("odd", ["a,b", "a:b", "a:b,c:d", "a:", ",", "x,"])
def test_existing_path_is_used_as_is(
    odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / odd).mkdir()
    monkeypatch.chdir(tmp_path)
    assert parse_roots(odd) == (Root("", str(tmp_path / odd)),)
    assert parse_roots(str(tmp_path / odd)) == (Root("", str(tmp_path / odd)),)


def test_does_not_split_path_objects_and_list_items() -> None:
    assert parse_roots(Path("/x/a,b:c")) == (Root("", "/x/a,b:c"),)
    assert [root.path for root in parse_roots(["/x/a,b", Path("/x/c:d")])] == ["/x/a,b", "/x/c:d"]
    assert parse_roots(["one:/x", "two:/y"]) == (Root("one", "/x"), Root("two", "/y"))


def test_colon_after_slash_is_not_a_name() -> None:
    assert parse_roots("/logs/12:30") == (Root("", "/logs/12:30"),)
    assert parse_roots("./12:30")[0].name == ""


def test_urls_are_not_names() -> None:
    assert parse_roots("s3://bucket/logs/") == (Root("", "s3://bucket/logs"),)
    assert parse_roots("a:s3://bucket/x,gs://bucket/y") == (
        Root("a", "s3://bucket/x"),
        Root("y", "gs://bucket/y"),
    )
    assert names("s3://one/logs,gs://two/logs") == ["one/logs", "two/logs"]


def test_file_urls_are_paths() -> None:
    assert parse_roots("file:///logs/a%20b") == (Root("", "/logs/a b"),)


def test_drives_are_not_names() -> None:
    assert _is_drive("C:\\logs", "nt") and _is_drive("C:/logs", "nt")
    assert not _is_drive("C:/logs", "posix")
    assert not _is_drive("run:/logs", "nt")
    assert _is_drive("E:\\tf20\\keras_log", "posix")
    assert parse_roots("E:\\tf20\\keras_log")[0].name == ""


def test_names_unnamed_roots_by_end_of_path() -> None:
    assert names("/x/train,/x/eval") == ["train", "eval"]
    assert names("/x/a/train,/x/b/train,/x/eval") == ["a/train", "b/train", "eval"]
    assert names("eval:/y,/x/eval,/x/train") == ["eval", "x/eval", "train"]
    assert names("eval:/y,/eval") == ["eval", "eval-2"]
    assert names("/a/x,/b/x,/a") == ["a/x", "b/x", "a-2"]
    assert names("/,/a") == ["root", "a"]


def test_merges_identical_roots() -> None:
    assert parse_roots("/x,/x/") == (Root("", "/x"),)


def test_run_names() -> None:
    assert Root("", "/x").get_run_name("") == "."
    assert Root("", "/x").get_run_name("a/b") == "a/b"
    assert Root("base", "/x").get_run_name("") == "base/."
    assert Root("base", "/x").get_run_name("a/b") == "base/a/b"


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("", "the log directory is an empty path"),
        ([], "no log directory was given"),
        ("/a,,/b", "empty path between commas"),
        ("/a,", "empty path between commas"),
        ("name:", 'missing path after the name in "name:"'),
        (":/logs", "cannot be the name of a log directory"),
        ("..:/logs", "cannot be the name of a log directory"),
        ({"a/b": "/logs"}, "cannot be the name of a log directory"),
        ({"": "/logs"}, "cannot be the name of a log directory"),
        ("a:/x,a:/y", 'two log directories are both named "a"'),
    ],
)
def test_rejects_invalid_arguments(spec: LogdirSpec, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        parse_roots(spec)
