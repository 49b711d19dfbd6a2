from __future__ import annotations

import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest

from tracklight.cli import main, serve
from tracklight.cli.flags import parse_flags
from tracklight.index.catalog import Catalog
from tracklight.server.app import ALL_INTERFACES, Settings


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """Collect the settings of servers instead of starting them."""
    collected: list[Settings] = []

    def run(catalog: Catalog, settings: Settings, announce: Callable[[str], None]) -> None:
        collected.append(settings)
        announce("http://localhost:6006/")

    monkeypatch.setattr(serve, "run_server", run)
    return collected


def start(*arguments: str) -> int:
    return main(["--no-config", "--no-cache", *arguments])


def test_settings_follow_the_flags(small_logdir: Path, served: list[Settings]) -> None:
    flags = "--port=7 --path_prefix=/a --window_title=Lab --trusted-host=lab.example --read-only"
    more = ["--no-token", "--alert=loss nan", "--embed-origin=https://wiki.example"]
    assert start(str(small_logdir), *flags.split(), *more) == 0
    (settings,) = served
    assert (settings.host, settings.port, settings.path_prefix) == ("localhost", 7, "/a")
    assert (settings.window_title, settings.trusted_hosts) == ("Lab", ("lab.example",))
    assert settings.auth.read_only and settings.open_to_all
    assert settings.embed_origins == ("https://wiki.example",)
    assert [rule.tag for rule in settings.alerts.rules] == ["loss"]


def test_settings_have_the_same_defaults(small_logdir: Path, served: list[Settings]) -> None:
    assert start(str(small_logdir)) == 0
    assert served == [Settings()]


@pytest.mark.parametrize(
    ("flags", "host"),
    [(["--bind_all"], ALL_INTERFACES), (["--host=0.0.0.0"], "0.0.0.0"), ([], "localhost")],
)
def test_hosts(flags: list[str], host: str, small_logdir: Path, served: list[Settings]) -> None:
    assert start(str(small_logdir), *flags) == 0
    assert served[0].host == host


def test_opens_the_browser(
    small_logdir: Path,
    served: list[Settings],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or False)
    assert start(str(small_logdir)) == 0
    assert opened == []
    assert start(str(small_logdir), "--open") == 0
    assert opened == ["http://localhost:6006/"]
    assert "could not open a browser" in capfd.readouterr().err


def test_reload_interval() -> None:
    for arguments, seconds in (
        ([], None),
        (["--reload_interval=0"], 0.0),
        (["--reload_int=5"], 5.0),
    ):
        flags = parse_flags(["--no-config", "logs", *arguments])
        assert serve.parse_settings(flags).reload_interval_s == seconds
