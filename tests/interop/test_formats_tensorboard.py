"""What tracklight encodes TensorBoard decodes to the same, and the other way round."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from tracklight.formats import hparams, proto, summary
from tracklight.formats.summary import decode_event, encode_event, encode_file_version
from tracklight.formats.tensor import decode_tensor, encode_tensor
from tracklight.formats.tfrecord import encode_record, iter_records
from tracklight.formats.values import upgrade_legacy_value

pytest.importorskip("tensorboard")

from tensorboard import data_compat
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.hparams import summary_v2 as hparams_v2
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.pr_curve import metadata as pr_curve_metadata
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util import tensor_util

DATA = Path(__file__).parent.parent / "data"
LOGS = sorted(path for path in DATA.glob("*/*tfevents*"))

THEIR_MODULES = [
    "compat.proto.step_stats_pb2",
    "compat.proto.tensor_description_pb2",
    "compat.proto.event_pb2",
    "compat.proto.summary_pb2",
    "compat.proto.graph_pb2",
    "compat.proto.config_pb2",
    "plugins.scalar.plugin_data_pb2",
    "plugins.text.plugin_data_pb2",
    "plugins.image.plugin_data_pb2",
    "plugins.audio.plugin_data_pb2",
    "plugins.histogram.plugin_data_pb2",
    "plugins.pr_curve.plugin_data_pb2",
    "plugins.mesh.plugin_data_pb2",
    "plugins.custom_scalar.layout_pb2",
    "plugins.hparams.plugin_data_pb2",
]

#: The rest of what is declared is TensorFlow's, ONNX's or the projector's.
#: The schemas of messages that TensorBoard declares too.
THEIRS_TOO = ("event", "graph", "plugins", "hparams")
#: Numbers that are tracklight's own start here.
OWN_FIELDS = 1001

Types = FieldDescriptorProto
SAME_ON_THE_WIRE = {
    (Types.TYPE_BYTES, Types.TYPE_STRING),
    (Types.TYPE_BYTES, Types.TYPE_MESSAGE),  # a message that is passed on as it is
    (Types.TYPE_INT32, Types.TYPE_ENUM),
}


@pytest.fixture(scope="module")
def their_messages() -> dict[str, Any]:
    messages: dict[str, Any] = {}
    for name in THEIR_MODULES:
        module = importlib.import_module(f"tensorboard.{name}")
        messages.update(module.DESCRIPTOR.message_types_by_name)
    return messages


def test_every_field_is_declared_as_theirs(their_messages: dict[str, Any]) -> None:
    compared: set[tuple[str, str]] = set()
    for name in list_declared():
        if name in their_messages:
            compare(getattr(proto, name).DESCRIPTOR, their_messages[name], compared)

    never_met = set(list_declared()) - {ours for ours, _ in compared}
    assert never_met == {"HistogramTotals"}


def list_declared() -> list[str]:
    texts = [Path(proto.SCHEMA_DIR, f"{name}.proto").read_text("utf-8") for name in THEIRS_TOO]
    words = [line.split() for text in texts for line in text.splitlines()]
    return [line[1] for line in words if line[:1] == ["message"]]


def compare(ours: Any, theirs: Any, compared: set[tuple[str, str]]) -> None:
    if (ours.name, theirs.full_name) in compared:
        return
    compared.add((ours.name, theirs.full_name))
    for field in ours.fields:
        if field.number >= OWN_FIELDS:
            continue
        other = theirs.fields_by_number[field.number]
        where = f"{ours.name}.{field.name}"
        assert field.name == other.name, where
        assert label_of(ours, field) == label_of(theirs, other), where
        assert field.type == other.type or (field.type, other.type) in SAME_ON_THE_WIRE, where
        assert oneof_of(field) == oneof_of(other), where
        if field.message_type is not None:
            compare(field.message_type, other.message_type, compared)


def label_of(message: Any, field: Any) -> int:
    declaration = DescriptorProto()
    message.CopyToProto(declaration)
    return next(item.label for item in declaration.field if item.number == field.number)


def oneof_of(field: Any) -> str | None:
    return field.containing_oneof.name if field.containing_oneof else None


ARRAYS = [
    np.array([[1, 2, 3], [4, 5, 6]], dtype)
    for dtype in "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 c8 c16 ?".split()
] + [
    np.array(0.1),
    np.array([], np.float32),
    np.zeros((2, 0, 3), np.int64),
    np.array([[b"a", b"\xff"], [b"", b"nul\0"]], object),
    np.array(b"text", object),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype}{list(array.shape)}")
def test_tensors_go_both_ways(array: np.ndarray[Any, Any]) -> None:
    theirs = tensor_pb2.TensorProto.FromString(encode_tensor(array).SerializeToString())
    np.testing.assert_array_equal(tensor_util.make_ndarray(theirs), array, strict=True)

    ours = decode_tensor(tensor_util.make_tensor_proto(array).SerializeToString())
    np.testing.assert_array_equal(ours, array, strict=True)


@pytest.mark.parametrize("dtype", "f2 f4 f8 i1 i2 i4 i8 u1 u2 u4 u8 c8 c16 ?".split())
def test_one_typed_value_for_a_whole_shape(dtype: str) -> None:
    message = tensor_util.make_tensor_proto(np.array(3).astype(dtype), shape=[2, 2])
    assert not message.tensor_content

    array = decode_tensor(message.SerializeToString())

    np.testing.assert_array_equal(array, np.full((2, 2), 3).astype(dtype), strict=True)


def test_logs_are_there() -> None:
    assert len(LOGS) >= 10


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_real_records_are_read_as_they_read_them(path: Path) -> None:
    payloads = [payload for _, payload in iter_records(path.read_bytes())]

    assert payloads == list(RawEventFileLoader(str(path)).Load())


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_real_events_survive_decoding_and_encoding(path: Path) -> None:
    for _, payload in iter_records(path.read_bytes()):
        again = decode_event(payload).SerializeToString()

        assert event_pb2.Event.FromString(again) == event_pb2.Event.FromString(payload)


def iter_values(path: Path) -> Iterator[tuple[Any, Any]]:
    """Every value of a log, as their message and as ours."""
    for _, payload in iter_records(path.read_bytes()):
        theirs = event_pb2.Event.FromString(payload).summary.value
        yield from zip(theirs, decode_event(payload).summary.value, strict=True)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_real_tensors_are_decoded_as_they_decode_them(path: Path) -> None:
    for theirs, ours in iter_values(path):
        try:
            expected = tensor_util.make_ndarray(theirs.tensor)
        except (TypeError, ValueError):
            continue  # what TensorBoard has no answer for: bfloat16, uint32_val, no dtype …
        array = decode_tensor(ours.tensor)

        assert array.dtype == expected.dtype
        np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
def test_old_values_become_what_they_become_there(path: Path) -> None:
    for theirs, ours in iter_values(path):
        kind = theirs.WhichOneof("value")
        if kind not in ("simple_value", "image", "audio", "histo") or "min_gt_max" in theirs.tag:
            continue
        expected = data_compat.migrate_value(theirs)
        modern = upgrade_legacy_value(ours)

        plugin = modern.metadata.plugin_data.plugin_name.decode()
        assert plugin == expected.metadata.plugin_data.plugin_name
        array = decode_tensor(modern.tensor)
        if kind == "histo":
            array = array.astype(np.float32)
        np.testing.assert_array_equal(array, tensor_util.make_ndarray(expected.tensor))


def their_value(value: Any) -> Any:
    return summary_pb2.Summary.Value.FromString(value.SerializeToString())


def test_a_file_of_ours_is_read_by_them(tmp_path: Path) -> None:
    path = tmp_path / "events.out.tfevents.1"
    events = [
        encode_file_version(1.0),
        encode_event(2.0, 5, [summary.scalar("loss", 0.5, description="d")]),
    ]
    path.write_bytes(b"".join(map(encode_record, events)))

    first, second = map(event_pb2.Event.FromString, RawEventFileLoader(str(path)).Load())

    assert first.file_version == "brain.Event:2"
    assert first.source_metadata.writer == "tracklight"
    (value,) = second.summary.value
    assert (second.step, value.tag, value.metadata.summary_description) == (5, "loss", "d")
    assert value.metadata.data_class == summary_pb2.DATA_CLASS_SCALAR


def test_their_records_are_read_by_us() -> None:
    stream = io.BytesIO()
    writer = RecordWriter(stream)
    writer.write(b"one")
    writer.write(b"")

    assert list(iter_records(stream.getvalue())) == [(0, b"one"), (19, b"")]


def test_mesh_is_understood() -> None:
    for value in summary.mesh("m", np.zeros((1, 4, 3)), np.zeros((1, 2, 3))):
        content = their_value(value).metadata.plugin_data.content
        parsed = mesh_metadata.parse_plugin_metadata(content)

        assert parsed.name == "m"
        assert value.tag.decode() == mesh_metadata.get_instance_name("m", parsed.content_type)


def test_pr_curve_is_understood() -> None:
    value = summary.pr_curve("x", [1, 0], [0.7, 0.2], thresholds=11)

    content = their_value(value).metadata.plugin_data.content
    assert pr_curve_metadata.parse_plugin_metadata(content).num_thresholds == 11


def test_layout_is_understood() -> None:
    value = summary.custom_scalars_layout({"c": [summary.MultilineChart("m", ["a", "b"])]})

    data = tensor_util.make_ndarray(their_value(value).tensor).item()
    layout = layout_pb2.Layout.FromString(data)
    assert list(layout.category[0].chart[0].multiline.tag) == ["a", "b"]


def test_experiment_is_understood() -> None:
    value = hparams.build_experiment(
        [hparams.HParam("lr", hparams.Interval(0, 1)), hparams.HParam("opt", ["adam"])],
        [hparams.Metric("accuracy", "validation", display_name="Accuracy")],
    )

    content = their_value(value).metadata.plugin_data.content
    experiment = hparams_metadata.parse_experiment_plugin_data(content)
    assert experiment.hparam_infos[0].domain_interval.max_value == 1
    assert experiment.hparam_infos[1].domain_discrete[0] == "adam"
    assert experiment.metric_infos[0].display_name == "Accuracy"


def test_session_is_what_they_would_write() -> None:
    values = {"lr": 0.5, "layers": 3, "bn": True, "opt": "adam"}

    ours = their_value(hparams.build_session_start(values, group_name="g", wall_time=7.0))
    theirs = hparams_v2.hparams_pb(values, trial_id="g", start_time_secs=7.0).value[0]

    assert ours.tag == theirs.tag
    assert hparams_metadata.parse_session_start_info_plugin_data(
        ours.metadata.plugin_data.content
    ) == hparams_metadata.parse_session_start_info_plugin_data(theirs.metadata.plugin_data.content)
    assert tensor_util.make_ndarray(ours.tensor).shape == (0,)


def test_their_session_is_understood() -> None:
    theirs = hparams_v2.hparams_pb({"lr": 0.5}, trial_id="g").value[0]

    content = proto.parse("HParamsPluginData", theirs.metadata.plugin_data.content)

    assert content.session_start_info.group_name == b"g"
    (pair,) = content.session_start_info.hparams
    assert (pair.key, pair.value.number_value) == (b"lr", 0.5)
