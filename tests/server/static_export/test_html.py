from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tests.server.columns_decoder import read_columns
from tracklight.errors import LogError
from tracklight.server import static_export

NASTY = "</script><script>alert(1)</script><!-- \u2028\u2029 & \" ' \\ ]]>"


def test_names_cannot_end_a_script() -> None:
    text = static_export.escape_json({NASTY: [NASTY]})
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {NASTY: [NASTY]}


def test_embedded_script_cannot_end_itself() -> None:
    embedded = static_export.embed_script('a="</script>";b="<!--"')
    assert embedded == '<script>a="<\\/script>";b="<\\!--"</script>'


class Response(msgspec.Struct):
    name: str
    value: np.ndarray


def test_responses_are_packed_with_columns() -> None:
    packed = static_export.pack_response(Response(NASTY, np.array([1.5, np.nan])))
    response = read_columns(zlib.decompress(base64.b64decode(packed), wbits=-15))
    assert response["name"] == NASTY
    np.testing.assert_array_equal(response["value"], [1.5, np.nan])


def test_missing_page_raises_log_error(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="was not built"):
        static_export.read_asset("board.js", tmp_path)
