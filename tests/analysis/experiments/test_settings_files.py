from __future__ import annotations

import json

import pytest

from tracklight.analysis.experiments.settings_files import parse_settings, rank_filename
from tracklight.errors import FormatError


def test_nested_values_have_names_with_slashes() -> None:
    content = {"lr": 0.1, "net": {"sizes": [1, 2], "bias": True}, "none": None, "name": "a"}
    hparams = parse_settings("config.json", json.dumps(content).encode())
    assert hparams == {"lr": 0.1, "net/sizes": "[1,2]", "net/bias": True, "name": "a"}
    assert type(parse_settings("args.json", b'{"epochs": 3}')["epochs"]) is float


def test_values_with_descriptions_are_unwrapped() -> None:
    text = b"wandb_version: 1\nlr:\n  desc: null\n  value: 0.1\nnet:\n  value:\n    depth: 3\n"
    assert parse_settings("config.yaml", text) == {"lr": 0.1, "net/depth": 3.0}


def test_reads_hparams_yaml_of_lightning() -> None:
    assert parse_settings("hparams.yaml", b"lr: 0.02\nlayers: 3\n") == {"lr": 0.02, "layers": 3.0}


def test_block_scalars_lose_their_final_newline() -> None:
    text = b"note: |\n  two\n  lines\nfolded: >\n  one\n  line\n"
    assert parse_settings("hparams.yaml", text) == {"note": "two\nlines", "folded": "one line"}


@pytest.mark.parametrize("data", [b"", b"[1, 2]", b"{", b"\xff\xfe", b"[" * 100_000])
def test_rejects_files_that_are_not_mappings(data: bytes) -> None:
    for name in ("config.json", "hparams.yaml"):
        with pytest.raises(FormatError):
            parse_settings(name, data)


def test_number_and_length_of_values_are_limited() -> None:
    many = {f"k{n}": "x" * 5000 for n in range(3000)}
    hparams = parse_settings("config.json", json.dumps(many).encode())
    assert len(hparams) == 1000
    assert max(len(str(value)) for value in hparams.values()) <= 501
    assert parse_settings("config.json", b'{"n": 1' + b"0" * 400 + b"}")["n"] == "1" + "0" * 400


def test_specific_file_names_rank_first() -> None:
    names = ["config.json", "hparams.yaml", "args.yaml", "params.json"]
    ranked = sorted(names, key=rank_filename)
    assert ranked == ["hparams.yaml", "params.json", "args.yaml", "config.json"]


def test_json_with_text_that_is_not_unicode() -> None:
    """Python writes parts of paths that are not UTF-8 as lone surrogates."""
    data = rb'{"\udcff": ["\udcff"], "path": "\udcff"}'
    assert parse_settings("config.json", data) == {"�": '["�"]', "path": "�"}
    with_mark = b"\xef\xbb\xbf" + b'{"lr": 1}'  # as PowerShell writes it
    assert parse_settings("config.json", with_mark) == {"lr": 1.0}
