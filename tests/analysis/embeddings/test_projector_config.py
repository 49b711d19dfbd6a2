from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight import projector
from tracklight.analysis.embeddings.discovery import (
    CONFIG_FILENAME,
    ConfigEntry,
    ProjectorConfig,
    parse_config,
)
from tracklight.errors import FormatError

TEXT = b"""
# a comment
model_checkpoint_path: "ck\\303\\244pt-1"
embeddings {
  tensor_name: 'words:0'
  tensor_shape: 10 tensor_shape: 4
  metadata_path: "m.tsv"
  sprite { image_path: "s.png" single_image_dim: [28, 14] }
  a_new_field: "x"
}
embeddings: { tensor_path: "t.tsv" bookmarks_path: "b.json" }
"""


def test_parses_all_fields() -> None:
    words = ConfigEntry("words", "", (10, 4), "m.tsv", "", "s.png", (28, 14))
    assert parse_config(TEXT) == ProjectorConfig(
        "ckäpt-1", (words, ConfigEntry(tensor_path="t.tsv", bookmarks_path="b.json"))
    )


def test_parses_configs_of_the_writer(tmp_path: Path) -> None:
    config = projector.ProjectorConfig()
    config.embeddings.add(tensor_name='a"b\\c', tensor_path="ü.tsv", tensor_shape=[3, 2])
    projector.visualize_embeddings(tmp_path, config)
    data = (tmp_path / CONFIG_FILENAME).read_bytes()
    assert parse_config(data).entries == (ConfigEntry('a"b\\c', "ü.tsv", (3, 2)),)


@pytest.mark.parametrize(
    "text", [b"embeddings {", b"tensor_name 3", b'model_checkpoint_path: "\xff', b"\x00"]
)
def test_rejects_invalid_configs(text: bytes) -> None:
    with pytest.raises(FormatError, match=r"projector_config\.pbtxt cannot be read"):
        parse_config(text)


@given(st.binary(max_size=80) | st.text('embdings{}: "tor_h\n3[]', max_size=80).map(str.encode))
def test_any_bytes_are_parsed_or_rejected(data: bytes) -> None:
    with contextlib.suppress(FormatError):
        parse_config(data)
