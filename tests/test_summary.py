"""`tracklight.summary`: accepted arguments, written records, and handling of misuse."""

from __future__ import annotations

import inspect
import io
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.tf_summary_signatures import SIGNATURES, format_parameters
from tests.writer.event_files import iter_events, list_files, read_scalars, read_values
from tracklight import summary
from tracklight.errors import UsageError, UsageWarning
from tracklight.formats import proto
from tracklight.formats.media import encode_png, encode_wav
from tracklight.formats.summary import MarginChart, MarginSeries, MultilineChart
from tracklight.formats.tensor import decode_tensor
from tracklight.summary import FileWriter
from tracklight.writer import values

GRAY = np.full((4, 6, 1), 100, np.uint8)


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[FileWriter]:
    writer = summary.create_file_writer(tmp_path)
    with writer.as_default(step=5):
        yield writer
    writer.close()


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[FileWriter]:
    writer = summary.create_file_writer(tmp_path, strict=True)
    with writer.as_default(step=5):
        yield writer
    writer.close()


def read_one(writer: FileWriter) -> Any:
    writer.flush()
    (value,) = read_values(Path(writer.logdir))
    return value


def read_array(writer: FileWriter) -> Any:
    return decode_tensor(read_one(writer).tensor)


def get_plugin(value: Any) -> str:
    return str(value.metadata.plugin_data.plugin_name.decode())


# The default writer, steps and conditions


@pytest.mark.parametrize(
    "log",
    [
        lambda: summary.histogram("a", [1.0]),
        lambda: summary.mesh("a", np.zeros((2, 3))),
        lambda: summary.experimental.write_raw_pb(b""),
    ],
)
def test_every_kind_logs_nothing_without_a_writer(log: Any) -> None:
    assert log() is False
    summary.flush()


def test_logs_nothing_without_a_writer() -> None:
    assert summary.scalar("loss", 1.0, step=1) is False
    assert summary.image("x", GRAY, step=1) is False
    assert summary.graph(b"") is False
    assert not summary.should_record_summaries()


def test_innermost_writer_is_the_default(tmp_path: Path) -> None:
    outer = summary.create_file_writer(tmp_path / "outer")
    inner = summary.create_file_writer(tmp_path / "inner")
    with outer.as_default():
        with inner.as_default():
            assert summary.scalar("a", 1.0, step=1)
        assert summary.scalar("b", 2.0, step=2)
    assert not summary.should_record_summaries()
    assert read_scalars(tmp_path / "inner") == [("a", 1, 1.0)]
    assert read_scalars(tmp_path / "outer") == [("b", 2, 2.0)]


def test_default_writer_is_visible_to_other_threads(tmp_path: Path) -> None:
    writer = summary.create_file_writer(tmp_path)
    writer.set_as_default(step=3)
    thread = threading.Thread(target=lambda: summary.scalar("a", 1.0))
    thread.start()
    thread.join()
    writer.close()
    assert not summary.should_record_summaries()
    assert read_scalars(tmp_path) == [("a", 3, 1.0)]


def test_threads_have_separate_writers_and_steps(tmp_path: Path) -> None:
    barrier = threading.Barrier(2)

    def train(name: str, step: int) -> None:
        with summary.create_file_writer(tmp_path / name).as_default():
            summary.set_step(step)
            barrier.wait()
            summary.scalar("a", 1.0)

    threads = [threading.Thread(target=train, args=(f"run{i}", i)) for i in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    summary.set_step(None)
    assert read_scalars(tmp_path / "run1") == [("a", 1, 1.0)]
    assert read_scalars(tmp_path / "run2") == [("a", 2, 1.0)]


def test_step_is_taken_from_set_step(writer: FileWriter) -> None:
    summary.set_step(7)
    assert summary.get_step() == 7
    summary.scalar("a", 1.0)
    summary.scalar("a", 1.0, step=8)
    summary.set_step(None)
    writer.flush()
    assert [step for _, step, _ in read_scalars(Path(writer.logdir))] == [7, 8]


def test_record_if_controls_recording(writer: FileWriter) -> None:
    for step in range(6):
        with summary.record_if(lambda: step % 2 == 0):  # noqa: B023
            assert summary.should_record_summaries() == (step % 2 == 0)
            summary.scalar("a", 1.0, step=step)
    with summary.record_if(False):
        assert summary.text("t", "x", step=1) is False
    summary.flush()
    assert [step for _, step, _ in read_scalars(Path(writer.logdir))] == [0, 2, 4]


def test_filename_suffix_is_appended(tmp_path: Path) -> None:
    summary.create_file_writer(tmp_path, filename_suffix=".v2").close()
    assert list_files(tmp_path)[0].name.endswith(".v2")


# The interface of tf.summary


def get_function(name: str) -> Any:
    found: Any = summary
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", SIGNATURES)
def test_arguments_are_those_of_tensorflow(name: str) -> None:
    function, expected = get_function(name), SIGNATURES[name]
    count = 0 if expected == "()" else expected.count(",") + 1
    assert format_parameters(function, count) == expected
    extra = list(inspect.signature(function).parameters.values())[count:]
    assert all(parameter.default is not parameter.empty for parameter in extra)


def test_accepts_all_arguments_of_tensorflow_by_position(tmp_path: Path) -> None:
    writer = summary.create_file_writer(str(tmp_path), 10, 1000, ".v2", "a name", True, None)
    assert isinstance(writer, summary.SummaryWriter)
    writer.init()
    with writer.as_default(3):
        assert summary.write("a", [1.0], None, None, "a name")
        summary.flush(writer, "a name")
    writer.close()
    assert list_files(tmp_path)[0].name.endswith(".v2")
    assert len(read_values(tmp_path)) == 1


@pytest.mark.parametrize("argument", ["max_queue", "flush_millis"])
def test_invalid_queue_limit_causes_one_warning(tmp_path: Path, argument: str) -> None:
    named: dict[str, Any] = {argument: "many"}
    with pytest.warns(UsageWarning, match=f"`{argument}` must be a number") as caught:
        summary.create_file_writer(tmp_path, **named).close()
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.raises(UsageError, match=f"`{argument}` must be a number"):
        summary.create_file_writer(tmp_path, **named, strict=True)
    summary.create_file_writer(tmp_path, **{argument: np.float32(10)}, strict=True).close()


def test_noop_writer_leaves_the_default_writer_alone(writer: FileWriter) -> None:
    noop = summary.create_noop_writer()
    assert isinstance(noop, summary.SummaryWriter)
    noop.init()
    noop.set_as_default(step=1)
    with noop.as_default(step=1):
        assert summary.scalar("a", 1.0)
    noop.flush()
    summary.flush(noop)
    noop.close()
    writer.flush()
    assert read_scalars(Path(writer.logdir)) == [("a", 5, 1.0)]


def test_noop_writer_logs_nothing() -> None:
    with summary.create_noop_writer().as_default(step=1):
        assert not summary.scalar("a", 1.0)
        assert not summary.should_record_summaries()


def test_raw_summary_is_written_unchanged(strict: FileWriter) -> None:
    value = proto.Value(tag=b"a", simple_value=0.5)
    data = proto.Summary(value=[value]).SerializeToString()
    assert summary.experimental.write_raw_pb(data)
    assert summary.experimental.write_raw_pb(np.array(data, object), 6, "a name")
    strict.flush()
    assert [event.step for event in iter_events(Path(strict.logdir))] == [5, 6]
    assert [value.simple_value for value in read_values(Path(strict.logdir))] == [0.5, 0.5]


def test_summary_scope_yields_the_tag() -> None:
    with summary.experimental.summary_scope("my loss", values=[1]) as (tag, _):
        assert tag == "my loss"
    with summary.experimental.summary_scope("") as (tag, scope):
        assert (tag, scope) == ("summary", "summary/")


def test_summary_scope_without_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with summary.experimental.summary_scope("my loss") as (tag, scope):
        assert (tag, scope) == ("my loss", "my loss/")


def test_raising_condition_causes_one_warning(writer: FileWriter) -> None:
    with summary.record_if(lambda: 1 / 0), pytest.warns(UsageWarning, match="ZeroDivisionError"):
        assert not summary.scalar("a", 1.0)


# Every kind of value


class Tensor:
    """Behaves like a PyTorch tensor on another device."""

    dtype = "torch.bfloat16"
    layout = "torch.strided"

    def __init__(self, array: Any) -> None:
        self._array = np.asarray(array, np.float32)
        self.ndim = self._array.ndim

    def detach(self) -> Tensor:
        return self

    float = cpu = resolve_conj = resolve_neg = detach

    def numpy(self) -> Any:
        return self._array

    def __array__(self) -> Any:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def __float__(self) -> float:
        return float(self._array)

    def __len__(self) -> int:
        return len(self._array)


@pytest.mark.parametrize(
    "number",
    [0.5, np.float32(0.5), np.array(0.5), np.array([[0.5]]), [0.5], Tensor(0.5), Tensor([0.5])],
)
def test_scalar_accepts_numbers_of_any_type(writer: FileWriter, number: Any) -> None:
    assert summary.scalar("a", number)
    assert read_array(writer) == 0.5


def test_scalar_with_description(writer: FileWriter) -> None:
    summary.scalar("a", 0.5, description="**all** of it")
    value = read_one(writer)
    assert get_plugin(value) == "scalars"
    assert value.metadata.summary_description == b"**all** of it"


def test_nan_is_a_scalar(strict: FileWriter) -> None:
    summary.scalar("a", float("nan"))
    assert np.isnan(read_array(strict))


def save_pil() -> Any:
    pillow = pytest.importorskip("PIL.Image")
    return pillow.fromarray(GRAY[:, :, 0])


def encode_with_pil(kind: str) -> bytes:
    stream = io.BytesIO()
    save_pil().save(stream, kind)
    return stream.getvalue()


class Figure:
    """Behaves like a Matplotlib figure."""

    def savefig(self, stream: Any, format: str) -> None:
        assert format == "png"
        stream.write(encode_png(GRAY))


@pytest.mark.parametrize(
    "make",
    [
        lambda: GRAY,
        lambda: GRAY[:, :, 0],
        lambda: GRAY[None],
        lambda: [GRAY],
        lambda: GRAY.tolist(),
        lambda: Tensor(GRAY[None] / 255),
        lambda: encode_png(GRAY),
        lambda: encode_with_pil("JPEG"),
        lambda: encode_with_pil("GIF"),
        save_pil,
        lambda: [save_pil()],
        Figure,
        lambda: SimpleNamespace(figure=Figure()),
    ],
    ids=[
        *("array", "without channels", "batch", "list", "nested list", "tensor", "PNG"),
        *("JPEG", "GIF", "PIL", "list of PIL", "figure", "axes"),
    ],
)
def test_image_accepts_every_image_type(strict: FileWriter, make: Any) -> None:
    assert summary.image("a", make())
    width, height, *pictures = read_array(strict)
    assert (width, height, len(pictures)) == (b"6", b"4", 1)


def test_image_logs_at_most_max_outputs(strict: FileWriter) -> None:
    summary.image("a", np.zeros((5, 4, 6, 3), np.uint8), max_outputs=2)
    assert len(read_array(strict)) == 2 + 2


def test_image_list_may_have_several_sizes(strict: FileWriter) -> None:
    summary.image("a", [GRAY, GRAY[:2], encode_png(GRAY)])
    assert len(read_array(strict)) == 2 + 3


@pytest.mark.parametrize(
    ("array", "pixel"),
    [
        (np.float32([[0.0, 0.5, 1.0, 1.5]]), [0, 127, 255, 255]),
        (np.array([[False, True]]), [0, 255]),
        (np.uint16([[0, 65535]]), [0, 255]),
        (np.int64([[0, 7, 255]]), [0, 7, 255]),
    ],
)
def test_pixels_are_rounded_as_tensorflow_does(array: Any, pixel: list[int]) -> None:
    from tracklight.writer.media import as_pixels

    assert as_pixels(array).tolist() == [pixel]


def test_audio(strict: FileWriter) -> None:
    sound = np.sin(np.arange(100) / 5)[None, :, None]
    assert summary.audio("a", np.repeat(sound, 5, 0), 8000, max_outputs=2)
    clips = read_array(strict)
    assert clips.shape == (2, 2)
    assert clips[0, 0].startswith(b"RIFF")


def test_audio_accepts_single_clips_int16_and_files() -> None:
    from tracklight.writer.media import encode_audio_clips

    file = encode_wav(np.zeros(10), 8000)
    assert encode_audio_clips(np.zeros(10), 8000) == [file]
    assert encode_audio_clips(np.zeros((1, 10, 1), np.int16), 8000) == [file]
    assert encode_audio_clips(file, 0) == [file]


@pytest.mark.parametrize(
    "text", ["# Title", ["a", "b"], np.array([["a", "b"], ["c", "d"]]), [["a", "b"], ["c", "d"]]]
)
def test_text(strict: FileWriter, text: Any) -> None:
    assert summary.text("a", text)
    got = np.vectorize(bytes.decode, otypes=[object])(read_array(strict))
    assert got.tolist() == (text if isinstance(text, (str, list)) else text.tolist())


def test_histogram_counts_as_tensorflow_does(strict: FileWriter) -> None:
    assert summary.histogram("a", [1.0, 2.0, 2.5, 4.0], buckets=3)
    assert read_array(strict).tolist() == [[1, 2, 1], [2, 3, 2], [3, 4, 1]]


def test_histogram_copies_the_numbers(strict: FileWriter) -> None:
    numbers = np.ones(3)
    summary.histogram("a", numbers, buckets=1)
    numbers[:] = 7
    assert read_array(strict).tolist() == [[1, 1, 3]]


def test_every_histogram_has_its_own_statistics(strict: FileWriter) -> None:
    for step in (1, 2):
        summary.histogram("a", [step, np.nan, np.inf], step=step)
    strict.flush()
    for step, value in enumerate(read_values(Path(strict.logdir)), 1):
        about = proto.parse("HistogramPluginData", value.metadata.plugin_data.content)
        totals = about.totals
        assert (totals.num, totals.sum, totals.nan, totals.positive_infinity) == (1, step, 1, 1)


def test_mesh_parts_have_separate_tags(strict: FileWriter) -> None:
    points = np.eye(3, dtype=np.float32)
    assert summary.mesh("m", points, faces=[[0, 1, 2]], colors=np.ones((3, 3)))
    strict.flush()
    tags = [value.tag for value in read_values(Path(strict.logdir))]
    assert tags == [b"m_VERTEX", b"m_FACE", b"m_COLOR"]


def test_pr_curve(strict: FileWriter) -> None:
    assert summary.pr_curve("a", [1, 0, 1], [0.9, 0.2, 0.4], num_thresholds=5)
    assert read_array(strict).shape == (6, 5)


def test_custom_scalars(strict: FileWriter) -> None:
    layout = {"losses": {"all": ["Multiline", ["loss/.*"]], "one": ["Margin", ["a", "b", "c"]]}}
    assert summary.custom_scalars(layout)
    value = read_one(strict)
    assert value.tag == b"custom_scalars__config__"
    parsed = proto.parse("Layout", decode_tensor(value.tensor).item())
    assert [chart.title for chart in parsed.category[0].chart] == [b"all", b"one"]


def test_custom_scalars_accepts_charts(strict: FileWriter) -> None:
    charts = [MultilineChart("losses", ["loss"]), MarginChart("band", [MarginSeries(*"abc")])]
    assert summary.custom_scalars({"all": charts})
    layout = proto.parse("Layout", read_array(strict).item())
    assert [chart.title for chart in layout.category[0].chart] == [b"losses", b"band"]


def test_counts_may_be_numbers_of_any_type(strict: FileWriter) -> None:
    for buckets in (np.int64(4), 4.0, np.float32(4)):
        summary.histogram("a", [1.0, 2.0], buckets=buckets)  # type: ignore[arg-type]
    strict.flush()
    shapes = [decode_tensor(it.tensor).shape for it in read_values(Path(strict.logdir))]
    assert shapes == [(4, 3)] * 3


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "int4"])
def test_narrow_types_are_logged_as_float32(strict: FileWriter, name: str) -> None:
    array = np.array([1, 2]).astype(pytest.importorskip("ml_dtypes").__dict__[name])
    assert summary.histogram("a", array, buckets=1)
    assert read_array(strict).tolist() == [[1, 2, 2]]


def test_graph_accepts_messages_bytes_graphs_and_models(strict: FileWriter) -> None:
    graph = proto.GraphDef(node=[proto.NodeDef(name=b"a", op=b"Add")])
    data = graph.SerializeToString()
    assert summary.graph(graph)
    assert summary.graph(data)
    assert summary.graph(SimpleNamespace(as_graph_def=lambda add_shapes: graph))
    assert summary.graph(SimpleNamespace(to_json=lambda: '{"class_name": "Sequential"}'))
    strict.flush()
    *graphs, model = iter_events(Path(strict.logdir))
    assert [event.graph_def for event in graphs] == [data] * 3
    assert get_plugin(model.summary.value[0]) == "graph_keras_model"


def test_tensor_of_any_type(strict: FileWriter) -> None:
    assert summary.tensor("a", np.arange(6, dtype=np.int16).reshape(2, 3))
    assert read_array(strict).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_write_accepts_custom_metadata(strict: FileWriter) -> None:
    metadata = proto.SummaryMetadata(plugin_data=proto.PluginData(plugin_name=b"mine"))
    assert summary.write("a", [1.5, 2.5], metadata=metadata)
    assert summary.write("b", [[1, 2], [3, 4]], metadata=metadata.SerializeToString())
    assert summary.write("c", [1.0])
    strict.flush()
    values = read_values(Path(strict.path).parent)
    plugins = [value.metadata.plugin_data.plugin_name for value in values]
    assert plugins == [b"mine", b"mine", b""]


def test_experimental_step_functions_are_aliases(strict: FileWriter) -> None:
    summary.experimental.set_step(77)
    assert summary.experimental.get_step() == summary.get_step() == 77
    summary.set_step(None)


def test_only_the_first_value_of_a_tag_has_metadata(strict: FileWriter) -> None:
    for step in range(3):
        summary.text("a", "x", step=step)
    strict.flush()
    described = [value.HasField("metadata") for value in read_values(Path(strict.logdir))]
    assert described == [True, False, False]


# Misuse

INVALID_CALLS = [
    ("data", lambda: summary.scalar("a", "0.5")),
    ("data", lambda: summary.scalar("a", None)),
    ("data", lambda: summary.scalar("a", [1.0, 2.0])),
    ("data", lambda: summary.scalar("a", [])),
    ("data", lambda: summary.scalar("a", 1j)),
    ("data", lambda: summary.scalar("a", object())),
    ("step", lambda: summary.scalar("a", 1.0, step="7")),
    ("step", lambda: summary.scalar("a", 1.0, step=float("nan"))),
    ("step", lambda: summary.scalar("a", 1.0, step=1 << 70)),
    ("step", lambda: summary.scalar("a", 1.0, step=[1, 2])),
    ("name", lambda: summary.scalar("x" * 20_000, 1.0)),
    ("data", lambda: summary.image("a", np.zeros(3))),
    ("data", lambda: summary.image("a", np.zeros((1, 1, 1, 1, 1)))),
    ("data", lambda: summary.image("a", np.zeros((0, 4, 4, 3)))),
    ("data", lambda: summary.image("a", [])),
    ("data", lambda: summary.image("a", np.zeros((3, 32, 32)))),
    ("data", lambda: summary.image("a", b"not an image")),
    ("data", lambda: summary.image("a", b"\xff\xd8\xff\xe0\x00\x04ab")),
    ("data", lambda: summary.image("a", np.zeros((5, 6, 7)))),
    ("data", lambda: summary.image("a", "picture.png")),
    ("data", lambda: summary.image("a", [[1, 2], [3]])),
    ("max_outputs", lambda: summary.image("a", GRAY, max_outputs=0)),
    ("data", lambda: summary.audio("a", np.zeros((2, 3)), 8000)),
    ("data", lambda: summary.audio("a", np.zeros((0, 3, 1)), 8000)),
    ("data", lambda: summary.audio("a", np.zeros(5, np.int64), 8000)),
    ("data", lambda: summary.audio("a", b"RIFF", 8000)),
    ("sample_rate", lambda: summary.audio("a", np.zeros(5), 0)),
    ("encoding", lambda: summary.audio("a", np.zeros(5), 8000, encoding="mp3")),
    ("data", lambda: summary.text("a", 5)),
    ("data", lambda: summary.text("a", [])),
    ("data", lambda: summary.text("a", [np.zeros((2, 2)), np.zeros((2, 3))])),
    ("data", lambda: summary.histogram("a", ["x"])),
    ("buckets", lambda: summary.histogram("a", [1.0], buckets=-1)),
    ("buckets", lambda: summary.histogram("a", [1.0], buckets=2.5)),  # type: ignore[arg-type]
    ("vertices", lambda: summary.mesh("a", np.zeros((2, 2)))),
    ("faces", lambda: summary.mesh("a", np.zeros((2, 3)), faces=[[0, 1, 2]])),
    ("colors", lambda: summary.mesh("a", np.zeros((2, 3)), colors=np.zeros((1, 3)))),
    ("predictions", lambda: summary.pr_curve("a", [1, 0], [0.5])),
    ("predictions", lambda: summary.pr_curve("a", [1], [np.nan])),
    ("num_thresholds", lambda: summary.pr_curve("a", [1], [0.5], num_thresholds=1)),
    ("layout", lambda: summary.custom_scalars("loss")),
    ("layout", lambda: summary.custom_scalars({"a": {"b": ["Pie", ["c"]]}})),
    ("layout", lambda: summary.custom_scalars({"a": ["loss"]})),
    ("graph_data", lambda: summary.graph(5)),
    ("tensor", lambda: summary.experimental.write_raw_pb(5)),
]

#: Invalid, but can be corrected.
CORRECTED_CALLS = [
    ("step", lambda: summary.scalar("a", 1.0, step=2.5)),
    ("name", lambda: summary.scalar("", 1.0)),
    ("name", lambda: summary.scalar("half \ud800", 1.0)),
    ("name", lambda: summary.scalar(7, 1.0)),  # type: ignore[arg-type]
    ("data", lambda: summary.image("a", np.full((2, 2, 1), np.nan))),
    ("data", lambda: summary.image("a", np.full((2, 2, 1), 200.0))),
    ("data", lambda: summary.image("a", np.full((2, 2, 1), 300))),
    ("data", lambda: summary.audio("a", np.full(5, np.nan), 8000)),
    ("predictions", lambda: summary.pr_curve("a", [1], [1.5])),
]


@pytest.mark.parametrize(("argument", "call"), INVALID_CALLS)
def test_misuse_causes_one_warning_with_argument_and_line(
    writer: FileWriter, argument: str, call: Any
) -> None:
    with pytest.warns(UsageWarning, match=f"`{argument}` ") as caught:
        results = [call() for _ in range(3)]
    assert results == [False] * 3
    assert [warning.filename for warning in caught] == [__file__]
    writer.flush()
    assert read_values(Path(writer.logdir)) == []


@pytest.mark.parametrize(("argument", "call"), CORRECTED_CALLS)
def test_corrected_arguments_are_logged_with_a_warning(
    writer: FileWriter, argument: str, call: Any
) -> None:
    with pytest.warns(UsageWarning, match=f"`{argument}` ") as caught:
        assert call()
    assert [warning.filename for warning in caught] == [__file__]
    assert len(read_one(writer).tag) > 0


@pytest.mark.parametrize(("argument", "call"), INVALID_CALLS + CORRECTED_CALLS)
def test_misuse_raises_in_strict_mode(strict: FileWriter, argument: str, call: Any) -> None:
    with pytest.raises(UsageError, match=f"`{argument}` "):
        call()


def test_environment_variable_enables_strict_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACKLIGHT_STRICT", "1")
    with summary.create_file_writer(tmp_path).as_default(), pytest.raises(UsageError):
        summary.scalar("a", "x", step=1)


def test_missing_step_warns(tmp_path: Path) -> None:
    with summary.create_file_writer(tmp_path).as_default():
        with pytest.warns(UsageWarning, match="`step` is missing"):
            assert not summary.scalar("a", 1.0)


def test_warns_once_per_line(writer: FileWriter) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(5):
            summary.scalar("a", "x")
        summary.scalar("a", "x")
    assert len({warning.lineno for warning in caught}) == len(caught) == 2


def test_too_long_text_is_rejected_before_it_is_copied(
    writer: FileWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "MAX_TEXT_BYTES", 1000)

    class Long(str):
        def encode(self, *_: Any) -> bytes:
            raise AssertionError("was copied")

    with pytest.warns(UsageWarning, match=r"`data` has 1001 characters; the maximum is 1000"):
        assert not summary.text("a", Long("x" * 1001))
    with pytest.warns(UsageWarning, match=r"`data` has 1200 characters"):
        assert not summary.text("a", ["x" * 400] * 3)


def test_too_large_tensor_is_rejected(writer: FileWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MAX_TENSOR_BYTES", 1000)
    with pytest.warns(UsageWarning, match="`data` has 1008 bytes"):
        assert not summary.tensor("a", np.zeros(126))


def test_exception_of_an_argument_does_not_break_training(writer: FileWriter) -> None:
    class Broken:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise ZeroDivisionError("from inside")

    cycle: list[Any] = []
    cycle.append(cycle)
    with pytest.warns(UsageWarning, match="ZeroDivisionError: from inside"):
        assert not summary.histogram("a", Broken())
    with pytest.warns(UsageWarning, match="RecursionError"):
        assert not summary.image("a", cycle)


NAMES = ["a/b", "/", " ", "a b", "loss:0", "μ", "日本", "\U0001f600", "a\nb", "\x00", "%2f", "../x"]


def test_tags_are_not_changed(strict: FileWriter) -> None:
    for name in NAMES:
        assert summary.scalar(name, 1.0)
        assert summary.text(name, "x")
    strict.flush()
    tags = [value.tag.decode() for value in read_values(Path(strict.logdir))]
    assert tags == [name for name in NAMES for _ in range(2)]


def test_no_framework_is_imported(tmp_path: Path) -> None:
    script = (
        "import sys; from tracklight import hparams, projector, summary\n"
        "with summary.create_file_writer(sys.argv[1], strict=True).as_default(step=1):\n"
        "    summary.scalar('a', [1.0]); summary.image('b', [[[1]]]); summary.histogram('c', [1])\n"
        "    hparams.hparams({'lr': 0.1})\n"
        "frameworks = {'torch', 'tensorflow', 'jax', 'keras', 'matplotlib', 'PIL', 'tensorboard'}\n"
        "print(frameworks & set(sys.modules))"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    assert subprocess.check_output(command, text=True).strip() == "set()"
