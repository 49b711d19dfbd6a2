from __future__ import annotations

from pathlib import Path

import pytest

from tracklight.cli.flags import parse_flags
from tracklight.errors import UsageError


@pytest.fixture(autouse=True)
def isolated_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty current directory and an empty configuration directory."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("APPDATA", str(tmp_path / "config"))
    return here


def write(text: str, path: Path = Path("tracklight.toml")) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_flags_override_settings() -> None:
    write('logdir = "logs"\nexclude = ["*/debug"]\n[serve]\nport = 7000\nwindow_title = "Lab"\n')

    flags = parse_flags([])
    assert (flags.logdir, flags.port, flags.window_title) == ("logs", 7000, "Lab")
    assert flags.exclude == ["*/debug"]
    assert flags.notes == ["using settings from tracklight.toml"]

    flags = parse_flags(["other", "--port=1", "--exclude=x"])
    assert (flags.directories, flags.logdir, flags.port) == (["other"], None, 1)
    assert flags.exclude == ["*/debug", "x"]


def test_ignores_settings_of_other_commands() -> None:
    write('port = 1\nlogdir = ["a:x", "b:y"]\n[serve]\nport = 2\n[inspect]\ncache = true\n')
    assert parse_flags(["serve"]).port == 2
    inspect = parse_flags(["inspect"])
    assert (inspect.logdir, inspect.cache) == ("a:x,b:y", True)
    assert parse_flags(["export"]).logdir == "a:x,b:y"


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("cache = false", "cache", False),
        ("open = true", "open", True),
        ("open = false", "open", False),
        ("reuse-port = true", "reuse_port", True),
        ("reload_interval = 2.5", "reload_interval", 2.5),
        ('alert = ["loss nan", "loss above 5"]', "alert", ["loss nan", "loss above 5"]),
        ('alert = "loss nan"', "alert", ["loss nan"]),
    ],
)
def test_accepts_toml_types(line: str, name: str, value: object) -> None:
    write(line)
    assert getattr(parse_flags(["logs"]), name) == value


def test_falls_back_to_the_user_config(tmp_path: Path) -> None:
    write("[serve]\nport = 1\n", tmp_path / "config" / "tracklight" / "tracklight.toml")
    assert parse_flags(["logs"]).port == 1
    write("[serve]\nport = 2\n")
    assert parse_flags(["logs"]).port == 2
    write("[serve]\nport = 3\n", tmp_path / "other.toml")
    assert parse_flags(["logs", f"--config={tmp_path / 'other.toml'}"]).port == 3
    assert parse_flags(["logs", "--no-config"]).port is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port = ", "tracklight.toml: invalid TOML"),
        ("prot = 1", r'there is no setting "prot"\. Did you mean "port"\?'),
        ("serve = 1", r"below \[serve\]"),
        ("[inspect]\nport = 1", 'there is no setting "port"'),
        ("port = [1]", r'"port" cannot be \[1\]'),
        ("open = 3", '"open" cannot be 3'),
        ("port = 70000", "not a port"),
    ],
)
def test_reports_invalid_files(text: str, message: str) -> None:
    write(text)
    with pytest.raises(UsageError, match=message):
        parse_flags(["logs"])


@pytest.mark.parametrize(
    "text", ["bind-all = true", "no_token = true", '[export]\nout = "x.csv"', 'auth = ["a:b"]']
)
def test_rejects_sensitive_settings_from_the_current_directory(text: str, tmp_path: Path) -> None:
    write(text)
    command = "export" if "export" in text else "serve"
    with pytest.raises(UsageError, match=r"current directory; .* --config tracklight\.toml"):
        parse_flags([command, "logs"])
    assert parse_flags([command, "logs", "--config=tracklight.toml"]).command == command
    Path("tracklight.toml").unlink()
    write(text, tmp_path / "config" / "tracklight" / "tracklight.toml")
    assert parse_flags([command, "logs"]).command == command


def test_reports_a_missing_config_file() -> None:
    with pytest.raises(UsageError, match=r"none\.toml: No such file"):
        parse_flags(["logs", "--config=none.toml"])
