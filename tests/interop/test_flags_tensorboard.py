"""The CLI accepts all flags of TensorBoard in all spellings."""

from __future__ import annotations

import argparse
import warnings

import pytest

from tracklight.cli.flags import parse_flags
from tracklight.cli.parser import UNSUPPORTED


def define_flags() -> list[argparse.Action]:
    core = pytest.importorskip("tensorboard.plugins.core.core_plugin")
    parser = argparse.ArgumentParser(add_help=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        core.CorePluginLoader().define_flags(parser)
    return [action for action in parser._actions if action.option_strings]


def make_value(action: argparse.Action) -> str:
    if action.choices:
        return str(next(iter(action.choices)))
    samples = {"port": "6006", "samples_per_plugin": "images=94", "host": "localhost"}
    numbers = {"reload_interval": "5", "max_reload_threads": "1"}
    return {**samples, **numbers}.get(action.dest, "true")


@pytest.mark.parametrize("action", define_flags(), ids=lambda action: action.dest)
def test_accepts_flag(action: argparse.Action) -> None:
    for flag in action.option_strings:
        words = [flag] if action.nargs == 0 else [flag, make_value(action)]
        if flag.replace("_", "-") in UNSUPPORTED:
            words[1] = ""
        if action.dest == "version_tb":
            with pytest.raises(SystemExit):
                parse_flags(words)
            continue
        flags = parse_flags(["--no-config", *words])
        assert flags.command == ("inspect" if action.dest == "inspect" else "serve")


@pytest.mark.parametrize(
    "line",
    [
        "--logdir ./logs --port 6006",
        "--logdir=logs --samples_per_plugin images=94",
        "--logdir logs/embeddings/ --port 6007",
        "serve --logdir logs",
        "--inspect --event_file=logs/x.tfevents --tag=loss",
        "--logdir=logs --host=0.0.0.0 --port=6006 --reload_multifile=true --load_fast=false",
    ],
)
def test_accepts_command_lines_of_tutorials(line: str) -> None:
    parse_flags(line.split())
