"""Events, which are the payloads of the records of an event file, and the metadata of tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.tfrecord import BytesLike
from tracklight.formats.wire_format import LENGTH_DELIMITED, VARINT, decode_text, iter_fields

#: Written in the first event of every file. Version 2 marks restarts with `SessionStatus.START`.
FILE_VERSION = b"brain.Event:2"

#: ``AudioPluginData.encoding``
UNKNOWN_ENCODING = 0
WAV_ENCODING = 11


class SessionStatus(IntEnum):
    """``SessionLog.status``.

    START means that the program was restarted: events that were written before, at this step or
    later, are obsolete.
    """

    UNSPECIFIED = 0
    START = 1
    STOP = 2
    CHECKPOINT = 3


class DataClass(IntEnum):
    """``SummaryMetadata.data_class``: the general shape of the data of a plugin."""

    UNKNOWN = 0
    SCALAR = 1
    TENSOR = 2
    BLOB_SEQUENCE = 3


_DATA_CLASSES = frozenset(DataClass)

#: For metadata without a data class, which writers before 2020 left out.
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
    """The metadata of a tag, which its first value carries."""

    plugin: str
    content: bytes
    display_name: str
    description: str
    data_class: DataClass


def parse_metadata(data: BytesLike) -> TagMetadata:
    """Decode a SummaryMetadata; a missing data class is inferred from the plugin.

    The message is parsed by hand, so that programs which only list a log do not have to import
    protobuf.

    Raises:
        FormatError: The bytes are not a SummaryMetadata.
    """
    view = bytes(data)
    fields: dict[int, bytes] = {}
    plugin_fields: dict[int, bytes] = {}
    data_class = DataClass.UNKNOWN
    for field in iter_fields(view, 0, len(view)):
        if field.number == 4 and field.wire_type == VARINT and field.value in _DATA_CLASSES:
            data_class = DataClass(field.value)
        elif field.number == 1 and field.wire_type == LENGTH_DELIMITED:
            plugin_fields.update(_iter_bytes_fields(view, field.start, field.end))
        elif field.wire_type == LENGTH_DELIMITED:
            fields[field.number] = view[field.start : field.end]
    plugin = decode_text(plugin_fields.get(1, b""))
    return TagMetadata(
        plugin=plugin,
        content=plugin_fields.get(2, b""),
        display_name=decode_text(fields.get(2, b"")),
        description=decode_text(fields.get(3, b"")),
        data_class=data_class or DATA_CLASS_BY_PLUGIN.get(plugin, DataClass.UNKNOWN),
    )


def _iter_bytes_fields(data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    for field in iter_fields(data, start, end):
        if field.wire_type == LENGTH_DELIMITED:
            yield field.number, data[field.start : field.end]


def decode_event(data: BytesLike) -> Message:
    """Decode an Event; raises FormatError if the bytes are not one."""
    return proto.parse("Event", data)


def encode_event(wall_time: float, step: int, values: Iterable[Message]) -> bytes:
    """Encode an event with summary values, such as `tracklight.formats.summary` builds."""
    return _serialize(wall_time, step, summary=proto.Summary(value=values))


def encode_file_version(wall_time: float, writer: str = "tracklight") -> bytes:
    """Encode the event that every file begins with."""
    source = proto.SourceMetadata(writer=writer.encode())
    return _serialize(wall_time, 0, file_version=FILE_VERSION, source_metadata=source)


def encode_session_status(wall_time: float, step: int, status: SessionStatus) -> bytes:
    """Encode an event that marks the start, the end or a checkpoint of the program."""
    return _serialize(wall_time, step, session_log=proto.SessionLog(status=status))


def encode_graph(wall_time: float, step: int, graph: Message) -> bytes:
    """Encode an event with the graph of a run, a GraphDef."""
    return _serialize(wall_time, step, graph_def=graph.SerializeToString())


def encode_run_metadata(wall_time: float, step: int, tag: str, metadata: Message) -> bytes:
    """Encode an event with the RunMetadata of one step: time and memory per node of the graph."""
    tagged = proto.TaggedRunMetadata(tag=tag.encode(), run_metadata=metadata.SerializeToString())
    return _serialize(wall_time, step, tagged_run_metadata=tagged)


def _serialize(wall_time: float, step: int, **fields: Message) -> bytes:
    data: bytes = proto.Event(wall_time=wall_time, step=step, **fields).SerializeToString()
    return data
