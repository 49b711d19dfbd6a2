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
    ("words", "why"),
    [
        (["--samples_per_plugin", "images=94"], "every point is kept"),
        (["--samples_per_plugin=images=94"], "every point is kept"),
        (["--load_fast=false"], "read at once"),
        (["--reload_multifile=true"], "followed as it grows"),
        (["--purge_orphaned_data", "false"], "kept and marked"),
        (["--logtostderr"], "standard error"),
    ],
)
def test_ignored_flags_add_a_note_with_the_reason(
    words: list[str], why: str
) -> None:
    flags = parse_flags(["--logdir", "logs", *words])

    (note,) = flags.notes
    assert note.startswith(words[0].split("=")[0].replace("_", "-"))
    assert why in note


@pytest.mark.parametrize("flag", ["--db", "--grpc_data_provider"])
def test_rejects_unsupported_data_sources(flag: str) -> None:
    assert parse_flags(["--logdir=logs", f"{flag}="]).notes == []
    with pytest.raises(UsageError, match="give --logdir"):
        parse_flags([f"{flag}=somewhere"])


def test_tensorboard_flags_have_the_same_meaning() -> None:
    line = "--logdir ./logs --port 6006 --host 0.0.0.0 --path_prefix /a --window_title Lab"
    flags = parse_flags([*line.split(), "--reload_interval=2.5", "--reuse_port=True"])

    assert (flags.logdir, flags.port, flags.host) == ("./logs", 6006, "0.0.0.0")
    assert (flags.path_prefix, flags.window_title) == ("/a", "Lab")
    assert (flags.reload_interval, flags.reuse_port) == (2.5, True)
    assert flags.notes == []
    assert parse_flags(["--logdir=x", "--bind_all"]).bind_all


@pytest.mark.parametrize("words", [["--reuse_port=1"], ["--reload_interval=-1"], ["--port=x"]])
def test_rejects_values_that_tensorboard_rejects(words: list[str]) -> None:
    with pytest.raises(UsageError, match="argument --"):
        parse_flags(["logs", *words])


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
    "words", [["logs", "--bogus"], ["export", "--out"], ["export", "x", "--format=pdf", "--out=-"]]
)
def test_rejects_invalid_arguments(words: list[str]) -> None:
    with pytest.raises(UsageError, match="--help"):
        parse_flags(words)
