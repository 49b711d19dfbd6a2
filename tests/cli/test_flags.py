from __future__ import annotations

import pytest

from tracklight.cli.flags import parse_flags
from tracklight.errors import UsageError


def test_serving_is_the_default() -> None:
    assert parse_flags(["--logdir", "logs"]).command == "serve"
    assert parse_flags(["logs"]).directories == ["logs"]
    assert parse_flags(["serve", "a", "b"]).directories == ["a", "b"]
    assert parse_flags([]).command == "serve"


@pytest.mark.parametrize("flag", ["--path_prefix", "--path-prefix", "--path"])
def test_either_spelling_and_prefixes_work(flag: str) -> None:
    assert parse_flags(["logs", f"{flag}=/a_b"]).path_prefix == "/a_b"
    assert parse_flags(["logs", flag, "/a_b"]).path_prefix == "/a_b"


@pytest.mark.parametrize(
    "words",
    [
        ["--reload_interval", "5"],
        ["--reload_interval=5"],
        ["--load_fast=false"],
        ["--reload_multifile=true"],
        ["--samples_per_plugin", "images=100"],
        ["--window_title=mine"],
    ],
)
def test_flags_that_say_nothing_here_are_passed_over(words: list[str]) -> None:
    flags = parse_flags(["--logdir", "logs", *words])

    assert flags.unneeded == [words[0].split("=")[0].replace("_", "-")]


def test_tensorboards_inspect_is_a_command_here() -> None:
    assert parse_flags(["--inspect", "--logdir", "logs"]).command == "inspect"


def test_ports() -> None:
    assert parse_flags(["logs"]).port is None
    assert parse_flags(["logs", "--port=default"]).port is None
    assert parse_flags(["logs", "--port=0"]).port == 0
    for port in ("65536", "-1", "many"):
        with pytest.raises(UsageError, match="port"):
            parse_flags(["logs", f"--port={port}"])


def test_the_cache_is_used_unless_files_are_inspected() -> None:
    assert parse_flags(["logs"]).cache
    assert not parse_flags(["logs", "--no-cache"]).cache
    assert not parse_flags(["inspect", "logs"]).cache
    assert parse_flags(["inspect", "logs", "--cache"]).cache


@pytest.mark.parametrize(
    "words", [["logs", "--bogus"], ["export", "--out"], ["export", "x", "--format=pdf", "--out=-"]]
)
def test_what_makes_no_sense_is_told(words: list[str]) -> None:
    with pytest.raises(UsageError, match="--help"):
        parse_flags(words)
