from __future__ import annotations

import json

import pytest

from tracklight.analysis.experiments.settings_files import parse_settings, rank_filename
from tracklight.errors import FormatError


def test_nested_values_have_names_with_slashes() -> None:
    given = {"lr": 0.1, "net": {"sizes": [1, 2], "bias": True}, "none": None, "name": "a"}
    found = parse_settings("config.json", json.dumps(given).encode())
    assert found == {"lr": 0.1, "net/sizes": "[1,2]", "net/bias": True, "name": "a"}
    assert type(parse_settings("args.json", b'{"epochs": 3}')["epochs"]) is float


def test_values_in_wrappers_are_unwrapped() -> None:
    text = b"wandb_version: 1\nlr:\n  desc: null\n  value: 0.1\nnet:\n  value:\n    depth: 3\n"
    assert parse_settings("config.yaml", text) == {"lr": 0.1, "net/depth": 3.0}


def test_lightning_keeps_them_in_hparams_yaml() -> None:
    assert parse_settings("hparams.yaml", b"lr: 0.02\nlayers: 3\n") == {"lr": 0.02, "layers": 3.0}


def test_block_texts_have_no_newline_at_the_end() -> None:
    text = b"note: |\n  two\n  lines\nfolded: >\n  one\n  line\n"
    assert parse_settings("hparams.yaml", text) == {"note": "two\nlines", "folded": "one line"}


@pytest.mark.parametrize("data", [b"", b"[1, 2]", b"{", b"\xff\xfe", b"[" * 100_000])
def test_other_files_are_said_to_hold_nothing(data: bytes) -> None:
    for name in ("config.json", "hparams.yaml"):
        with pytest.raises(FormatError):
            parse_settings(name, data)


def test_large_files_are_bounded() -> None:
    many = {f"k{n}": "x" * 5000 for n in range(3000)}
    found = parse_settings("config.json", json.dumps(many).encode())
    assert len(found) == 1000
    assert max(len(str(value)) for value in found.values()) <= 501
    assert parse_settings("config.json", b'{"n": 1' + b"0" * 400 + b"}")["n"] == "1" + "0" * 400


def test_clearer_names_count_first() -> None:
    names = ["config.json", "hparams.yaml", "args.yaml", "params.json"]
    ranked = sorted(names, key=rank_filename)
    assert ranked == ["hparams.yaml", "params.json", "args.yaml", "config.json"]
