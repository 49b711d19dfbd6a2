from __future__ import annotations

from tracklight.formats import hparams, proto


def contents_of(value: proto.Message) -> bytes:
    content: bytes = value.metadata.plugin_data.content
    return content


def test_round_trip() -> None:
    given = {"lr": 0.01, "layers": 3, "name": "vit-ü", "flip": True, "empty": ""}
    content = contents_of(hparams.build_session_start(given))
    found = hparams.parse_session_hparams(content)
    assert found == given
    assert found["flip"] is True


def test_lists_become_text_and_nulls_are_dropped() -> None:
    start = proto.SessionStartInfo()
    sizes = start.hparams.add(key=b"sizes").value.list_value.values
    sizes.add(number_value=3)
    sizes.add(string_value=b"wide")
    start.hparams.add(key=b"nothing").value.null_value = 0
    start.hparams.add(key=b"unset")
    data = proto.HParamsPluginData(session_start_info=start).SerializeToString()
    assert hparams.parse_session_hparams(data) == {"sizes": "3.0, wide"}


def test_invalid_metadata_is_empty() -> None:
    end = contents_of(hparams.build_session_end(hparams.Status.SUCCESS))
    for content in (b"", b"\xff\xff\xff", end):
        assert hparams.parse_session_hparams(content) == {}
