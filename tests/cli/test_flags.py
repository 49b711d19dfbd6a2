from __future__ import annotations

import pytest

from tracklight.cli.flags import parse_flags
from tracklight.errors import UsageError


def test_serve_is_the_default_command() -> None:
    assert parse_flags(["--logdir", "logs"]).command == "serve"
    assert parse_flags(["logs"]).directories == ["logs"]
    assert parse_flags(["serve", "a", "b"]).directories == ["a", "b"]
    assert parse_flags([]).command == "serve"


@pytest.mark.parametrize("flag", ["--path_prefix", "--path-prefix", "--path"])
def test_accepts_underscores_and_prefixes(flag: str) -> None:
    assert parse_flags(["logs", f"{flag}=/a_b"]).path_prefix == "/a_b"
    assert parse_flags(["logs", flag, "/a_b"]).path_prefix == "/a_b"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--samples_per_plugin", "images=94"], "all points are kept"),
        (["--samples_per_plugin=images=94"], "all points are kept"),
        (["--load_fast=false"], "single reader"),
        (["--reload_multifile=true"], "tailed as they grow"),
        (["--purge_orphaned_data", "false"], "points are kept"),
        (["--logtostderr"], "standard error"),
    ],
)
def test_ignored_flags_add_a_note_with_the_reason(arguments: list[str], reason: str) -> None:
    flags = parse_flags(["--logdir", "logs", *arguments])

    (note,) = flags.notes
    assert note.startswith(arguments[0].split("=")[0].replace("_", "-"))
    assert reason in note


@pytest.mark.parametrize("flag", ["--db", "--grpc_data_provider"])
def test_rejects_unsupported_data_sources(flag: str) -> None:
    assert parse_flags(["--logdir=logs", f"{flag}="]).notes == []
    with pytest.raises(UsageError, match="use --logdir"):
        parse_flags([f"{flag}=somewhere"])


def test_tensorboard_flags_have_the_same_meaning() -> None:
    line = "--logdir ./logs --port 6006 --host 0.0.0.0 --path_prefix /a --window_title Lab"
    flags = parse_flags([*line.split(), "--reload_interval=2.5", "--reuse_port=True"])

    assert (flags.logdir, flags.port, flags.host) == ("./logs", 6006, "0.0.0.0")
    assert (flags.path_prefix, flags.window_title) == ("/a", "Lab")
    assert (flags.reload_interval, flags.reuse_port) == (2.5, True)
    assert flags.notes == []
    assert parse_flags(["--logdir=x", "--bind_all"]).bind_all


@pytest.mark.parametrize("arguments", [["--reuse_port=1"], ["--reload_interval=-1"], ["--port=x"]])
def test_rejects_values_that_tensorboard_rejects(arguments: list[str]) -> None:
    with pytest.raises(UsageError, match="argument --"):
        parse_flags(["logs", *arguments])


def test_inspect_flag_becomes_the_inspect_command() -> None:
    flags = parse_flags(["--logdir", "logs", "--inspect", "--tag", "loss"])
    assert (flags.command, flags.tag) == ("inspect", ["loss"])
    assert parse_flags(["--inspect", "--event_file=x"]).event_file == "x"


def test_ports() -> None:
    assert parse_flags(["logs"]).port is None
    assert parse_flags(["logs", "--port=default"]).port is None
    assert parse_flags(["logs", "--port=0"]).port == 0
    for port in ("65536", "-1", "many"):
        with pytest.raises(UsageError, match="port"):
            parse_flags(["logs", f"--port={port}"])


def test_inspect_does_not_use_the_cache_by_default() -> None:
    assert parse_flags(["logs"]).cache
    assert not parse_flags(["logs", "--no-cache"]).cache
    assert not parse_flags(["inspect", "logs"]).cache
    assert parse_flags(["inspect", "logs", "--cache"]).cache


@pytest.mark.parametrize(
    "arguments",
    [["logs", "--bogus"], ["export", "--out"], ["export", "x", "--format=pdf", "--out=-"]],
)
def test_rejects_invalid_arguments(arguments: list[str]) -> None:
    with pytest.raises(UsageError, match="--help"):
        parse_flags(arguments)
