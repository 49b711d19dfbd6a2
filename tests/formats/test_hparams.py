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


def test_run_records_round_trip() -> None:
    start = hparams.RunStart("train.py", host="gpu1", versions={"torch": "2.1"}, pid=7)
    end = hparams.RunEnd(failed=True, error="ValueError: ü", wall_time=1.5)
    assert hparams.parse_run_start(contents_of(hparams.build_run_start(start))) == start
    assert hparams.parse_run_end(contents_of(hparams.build_run_end(end))) == end


def test_invalid_run_records_are_ignored() -> None:
    for content in (b"", b"[1]", b'{"pid": "x"}', b"\xff", b"[" * 100_000):
        assert hparams.parse_run_start(content) is None
    assert hparams.parse_run_start(b'{"pid": 3, "later": 1}') == hparams.RunStart(pid=3)


def test_other_readers_see_the_status_of_tensorboard() -> None:
    for status in hparams.Status:
        content = contents_of(hparams.build_session_end(status))
        found = hparams.parse_session_end_info(content)
        assert found is not None
        assert found.status is status
        message = proto.HParamsPluginData.FromString(content)
        assert message.session_end_info.status <= hparams.Status.RUNNING
