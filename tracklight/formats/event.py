"""Events, the payloads of an event file's records, and the metadata that describes a tag."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.tfrecord import BytesLike
from tracklight.formats.wire_format import LENGTH_DELIMITED, VARINT, decode_text, iter_fields

#: What the first event of every file says, so that readers know how restarts are marked.
FILE_VERSION = b"brain.Event:2"


class SessionStatus(IntEnum):
    """``SessionLog.status``; START means that what follows replaces later steps written before."""

    UNSPECIFIED = 0
    START = 1
    STOP = 2
    CHECKPOINT = 3


class DataClass(IntEnum):
    """``SummaryMetadata.data_class``: the shape of a plugin's data, whatever it means."""

    UNKNOWN = 0
    SCALAR = 1
    TENSOR = 2
    BLOB_SEQUENCE = 3


_DATA_CLASSES = frozenset(DataClass)

#: What is meant by the plugins whose writers leave the class out, as those before 2020 did.
DATA_CLASS_BY_PLUGIN = {
    "scalars": DataClass.SCALAR,
    "histograms": DataClass.TENSOR,
    "text": DataClass.TENSOR,
    "hparams": DataClass.TENSOR,
    "pr_curves": DataClass.TENSOR,
    "mesh": DataClass.TENSOR,
    "custom_scalars": DataClass.TENSOR,
    "images": DataClass.BLOB_SEQUENCE,
    "audio": DataClass.BLOB_SEQUENCE,
    "graphs": DataClass.BLOB_SEQUENCE,
    "graph_run_metadata": DataClass.BLOB_SEQUENCE,
    "graph_run_metadata_graph": DataClass.BLOB_SEQUENCE,
    "graph_keras_model": DataClass.BLOB_SEQUENCE,
    "graph_tagged_run_metadata": DataClass.BLOB_SEQUENCE,
}


@dataclass(frozen=True, slots=True)
class TagMetadata:
    """What a tag's first value says about the tag."""

    plugin: str
    content: bytes
    display_name: str
    description: str
    data_class: DataClass


def parse_metadata(data: BytesLike) -> TagMetadata:
    """Decode a SummaryMetadata; a class that it leaves out is filled in from the plugin's name.

    Field by field, as listing a log is all that many programs do, and needs no protobuf then.
    """
    view = bytes(data)
    texts: dict[int, bytes] = {}
    plugin_texts: dict[int, bytes] = {}
    data_class = DataClass.UNKNOWN
    for field in iter_fields(view, 0, len(view)):
        if field.number == 4 and field.wire_type == VARINT and field.value in _DATA_CLASSES:
            data_class = DataClass(field.value)
        elif field.number == 1 and field.wire_type == LENGTH_DELIMITED:
            plugin_texts.update(_iter_bytes_fields(view, field.start, field.end))
        elif field.wire_type == LENGTH_DELIMITED:
            texts[field.number] = view[field.start : field.end]
    plugin = decode_text(plugin_texts.get(1, b""))
    return TagMetadata(
        plugin=plugin,
        content=plugin_texts.get(2, b""),
        display_name=decode_text(texts.get(2, b"")),
        description=decode_text(texts.get(3, b"")),
        data_class=data_class or DATA_CLASS_BY_PLUGIN.get(plugin, DataClass.UNKNOWN),
    )


def _iter_bytes_fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    for field in iter_fields(data, start, end):
        if field.wire_type == LENGTH_DELIMITED:
            yield field.number, data[field.start : field.end]


def decode_event(data: BytesLike) -> Message:
    """Decode the payload of a record of an event file."""
    return proto.parse("Event", data)


def encode_event(wall_time: float, step: int, values: Iterable[Message]) -> bytes:
    """An event that logs ``values`` at ``step``."""
    return _serialize(wall_time, step, summary=proto.Summary(value=values))


def encode_file_version(wall_time: float, writer: str = "tracklight") -> bytes:
    """The event that every file starts with."""
    source = proto.SourceMetadata(writer=writer.encode())
    return _serialize(wall_time, 0, file_version=FILE_VERSION, source_metadata=source)


def encode_session_status(wall_time: float, step: int, status: SessionStatus) -> bytes:
    """An event that tells of a start, a stop or a checkpoint of the program that writes."""
    return _serialize(wall_time, step, session_log=proto.SessionLog(status=status))


def encode_graph(wall_time: float, step: int, graph: Message) -> bytes:
    """An event that holds the graph of a run, a GraphDef."""
    return _serialize(wall_time, step, graph_def=graph.SerializeToString())


def encode_run_metadata(wall_time: float, step: int, tag: str, metadata: Message) -> bytes:
    """An event that says what the graph of a run took in one step."""
    tagged = proto.TaggedRunMetadata(tag=tag.encode(), run_metadata=metadata.SerializeToString())
    return _serialize(wall_time, step, tagged_run_metadata=tagged)


def _serialize(wall_time: float, step: int, **fields: Message) -> bytes:
    data: bytes = proto.Event(wall_time=wall_time, step=step, **fields).SerializeToString()
    return data


WAV_ENCODING = 11

#: ``AudioPluginData.encoding``.
UNKNOWN_ENCODING = 0
