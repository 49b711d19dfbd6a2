from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracklight.errors import FormatError
from tracklight.formats import proto, summary
from tracklight.formats.summary import (
    DataClass,
    SessionStatus,
    TagMetadata,
    decode_event,
    encode_event,
    encode_file_version,
    encode_graph,
    encode_session_status,
    parse_metadata,
)

try:
    from tracklight.formats import _scan
except ImportError:
    _scan = None  # type: ignore[assignment]

needs_kernel = pytest.mark.skipif(_scan is None, reason="the kernel has not been compiled")


def test_encodes_file_version() -> None:
    event = proto.Event(wall_time=1599759586.0, file_version=b"brain.Event:2")

    assert event.SerializeToString() == b"\x09\x00\x00\x80\x38\x99\xd6\xd7\x41\x1a\x0dbrain.Event:2"


def test_file_version_names_writer() -> None:
    event = decode_event(encode_file_version(12.5, writer="me"))

    assert event.wall_time == 12.5
    assert event.file_version == b"brain.Event:2"
    assert event.source_metadata.writer == b"me"


def test_encodes_values() -> None:
    event = decode_event(encode_event(3.0, -7, [summary.scalar("a", 1), summary.scalar("b", 2)]))

    assert (event.wall_time, event.step) == (3.0, -7)
    assert [value.tag for value in event.summary.value] == [b"a", b"b"]


def test_encodes_session_status_and_graph() -> None:
    session = decode_event(encode_session_status(1.0, 40, SessionStatus.START))
    graph = proto.GraphDef(node=[proto.NodeDef(name=b"x", op=b"Placeholder")])
    holder = decode_event(encode_graph(1.0, 0, graph))

    assert (session.step, session.session_log.status) == (40, 1)
    assert proto.parse("GraphDef", holder.graph_def) == graph


def test_invalid_event_raises() -> None:
    with pytest.raises(FormatError, match="not a valid Event message"):
        decode_event(b"\x09short")


def test_parses_metadata() -> None:
    content = proto.MeshPluginData(name=b"m")
    data = summary.make_metadata("mesh", content, display_name="M", description="*of* it")

    assert parse_metadata(data.SerializeToString()) == TagMetadata(
        plugin="mesh",
        content=content.SerializeToString(),
        display_name="M",
        description="*of* it",
        data_class=DataClass.TENSOR,
    )


@pytest.mark.parametrize(
    ("plugin", "given", "data_class"),
    [
        (b"images", 0, DataClass.BLOB_SEQUENCE),
        (b"images", DataClass.TENSOR, DataClass.TENSOR),
        (b"custom", 0, DataClass.UNKNOWN),
        (b"custom", 77, DataClass.UNKNOWN),
    ],
)
def test_infers_missing_data_class_from_plugin(
    plugin: bytes, given: int, data_class: DataClass
) -> None:
    message = proto.SummaryMetadata(
        plugin_data=proto.PluginData(plugin_name=plugin), data_class=given
    )

    assert parse_metadata(message.SerializeToString()).data_class is data_class


def test_keeps_invalid_utf8_visible() -> None:
    message = proto.SummaryMetadata(display_name=b"caf\xe9")

    assert parse_metadata(message.SerializeToString()).display_name == "caf\\xe9"


def test_empty_metadata() -> None:
    assert parse_metadata(b"") == TagMetadata("", b"", "", "", DataClass.UNKNOWN)


@needs_kernel
@given(st.binary(max_size=40), st.text(max_size=8), st.sampled_from(["", "hparams", "text"]))
def test_splits_metadata_from_the_content_of_its_plugin(
    content: bytes, description: str, plugin: str
) -> None:
    message = proto.SummaryMetadata(summary_description=description.encode())
    message.plugin_data.plugin_name = plugin.encode()
    shape_without = _scan.split_metadata(message.SerializeToString())
    message.plugin_data.content = content
    assert shape_without is not None
    assert _scan.split_metadata(message.SerializeToString()) == (shape_without[0], content)


@needs_kernel
def test_does_not_split_invalid_metadata() -> None:
    assert _scan.split_metadata(b"") == (b"", b"")
    assert _scan.split_metadata(b"\x0a\x09short") is None
    plugin = b"\x0a\x03\x12\x01a"
    assert _scan.split_metadata(plugin) == (b"", b"a")
    assert _scan.split_metadata(plugin + plugin) is None
