"""`SummaryWriter` without PyTorch."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.writer.event_files import iter_events, list_files, read_values
from tracklight.errors import UsageError, UsageWarning
from tracklight.formats import proto
from tracklight.formats.tensor import decode_tensor
from tracklight.formats.tfrecord import iter_records
from tracklight.torch import FileWriter, SummaryWriter
from tracklight.writer import values


def read_points(logdir: Path) -> list[tuple[str, int, float]]:
    return [
        (value.tag.decode(), event.step, value.simple_value)
        for event in iter_events(logdir)
        for value in event.summary.value
    ]


def test_does_not_import_torch() -> None:
    script = "import sys, tracklight.torch; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout == "False\n", result.stderr


def test_default_directory_has_time_and_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("socket.gethostname", lambda: "box")
    with SummaryWriter(comment="_lr0.1") as writer:
        directory = str(writer.get_logdir())
    assert re.fullmatch(r"runs/[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_box_lr0\.1", directory)
    assert len(list_files(tmp_path / directory)) == 1


def test_accepts_path_and_suffix(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path, "ignored", None, 1, 1, ".mine")
    assert writer.get_logdir() == tmp_path
    assert writer.file_writer is not None
    assert writer.file_writer.get_logdir() == str(tmp_path)
    assert (writer.max_queue, writer.flush_secs, writer.filename_suffix) == (1, 1, ".mine")
    writer.close()
    (file,) = list_files(tmp_path)
    assert file.name.endswith(".mine")


def test_continues_in_a_new_file_after_close(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    for step in range(3):
        writer.add_scalar("loss", step / 2, step)
        writer.close()
        writer.close()
    assert writer.file_writer is None and writer.all_writers is None
    assert len(list_files(tmp_path)) == 3
    assert sorted(read_points(tmp_path)) == [("loss", 0, 0.0), ("loss", 1, 0.5), ("loss", 2, 1.0)]


def test_flush_writes_all_files(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path, flush_secs=600) as writer:
        writer.add_scalar("a", 1.0, 1)
        writer.add_scalars("b", {"x": 2.0}, 1)
        writer.flush()
        assert read_points(tmp_path) == [("a", 1, 1.0)]
        assert read_points(tmp_path / "b_x") == [("b", 1, 2.0)]
        assert set(writer.all_writers or ()) == {str(tmp_path), f"{tmp_path}/b_x"}


@pytest.mark.parametrize(
    ("value", "step"),
    [
        (2, 3),
        (2.0, np.int32(3)),
        (np.float32(2), np.array(3)),
        (np.array([[2]]), 3.0),
        ([2.0], [3]),
        (True + 1, 3),
    ],
)
def test_accepts_numbers_of_any_type(tmp_path: Path, value: Any, step: Any) -> None:
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_scalar("a", value, step)
    assert read_points(tmp_path) == [("a", 3, 2.0)]


INVALID_CALLS: dict[str, tuple[str, Callable[[SummaryWriter], None]]] = {
    "scalar text": ("scalar_value", lambda w: w.add_scalar("a", "high", 1)),
    "scalar array": ("scalar_value", lambda w: w.add_scalar("a", [1, 2], 1)),
    "step text": ("global_step", lambda w: w.add_scalar("a", 1, "one")),
    "step nan": ("global_step", lambda w: w.add_text("a", "b", float("nan"))),
    "tag long": ("tag", lambda w: w.add_scalar("a" * 20_000, 1, 1)),
    "scalars": ("tag_scalar_dict", lambda w: w.add_scalars("a", {"x": "y"})),
    "histogram empty": ("values", lambda w: w.add_histogram("h", [])),
    "histogram nan": ("values", lambda w: w.add_histogram("h", [float("nan")], bins=3)),
    "histogram nan tf": ("values", lambda w: w.add_histogram("h", [float("inf")])),
    "histogram bins": ("bins", lambda w: w.add_histogram("h", [9.0], bins=[0, 1])),
    "raw": ("bucket_limits", lambda w: w.add_histogram_raw("h", 0, 1, 1, 1, 1, [1, 2], [3])),
    "image rank": ("img_tensor", lambda w: w.add_image("i", np.zeros(5))),
    "image empty": ("img_tensor", lambda w: w.add_image("i", np.zeros((3, 0, 2)))),
    "image channels": ("img_tensor", lambda w: w.add_image("i", np.zeros((5, 5, 5)))),
    "image format": ("dataformats", lambda w: w.add_image("i", np.zeros((5, 5)), 1, None, "HH")),
    "boxes": ("box_tensor", lambda w: w.add_image_with_boxes("i", np.zeros((3, 9, 9)), [1, 2])),
    "figure": ("figure", lambda w: w.add_figure("f", "plot")),
    "video rank": ("vid_tensor", lambda w: w.add_video("v", np.zeros((2, 3)))),
    "video speed": ("fps", lambda w: w.add_video("v", np.zeros((1, 2, 3, 4, 4)), fps=0)),
    "audio": ("snd_tensor", lambda w: w.add_audio("a", np.zeros((2, 9)))),
    "embedding rank": ("mat", lambda w: w.add_embedding(np.zeros(3))),
    "embedding labels": ("metadata", lambda w: w.add_embedding(np.zeros((3, 2)), ["a"])),
    "embedding images": ("label_img", lambda w: w.add_embedding(np.zeros((3, 2)), None, [[1]])),
    "pr sizes": ("predictions", lambda w: w.add_pr_curve("p", [1], [0.5, 0.5])),
    "pr nan": ("predictions", lambda w: w.add_pr_curve("p", [1], [float("nan")])),
    "pr one": ("num_thresholds", lambda w: w.add_pr_curve("p", [1], [0.5], num_thresholds=1)),
    "pr raw": (
        "true_positive_counts",
        lambda w: w.add_pr_curve_raw("p", [1, 2], [1], [1], [1], [1], [1]),
    ),
    "margin": ("layout", lambda w: w.add_custom_scalars_marginchart(["a", "b"])),
    "layout": ("layout", lambda w: w.add_custom_scalars([1])),  # type: ignore[arg-type]
    "mesh": ("vertices", lambda w: w.add_mesh("m", np.zeros((2, 3)))),
    "hparams": ("hparam_dict", lambda w: w.add_hparams([1], {})),  # type: ignore[arg-type]
    "domain": ("hparam_domain_discrete", lambda w: w.add_hparams({"a": 1}, {}, {"a": ["b"]})),
    "onnx": ("prototxt", lambda w: w.add_onnx_graph("not/there.onnx")),
    "onnx damaged": ("prototxt", lambda w: w.add_onnx_graph(__file__)),
    "tensor large": ("tensor", lambda w: w.add_tensor("t", np.broadcast_to(0.0, (1 << 30,)))),
    "embedding header": (
        "metadata_header",
        lambda w: w.add_embedding(np.zeros((1, 2)), [["a", "b"]], metadata_header=["x"]),
    ),
    "figure sizes": ("figure", lambda w: w.add_figure("f", [make_figure(2), make_figure(3)])),
}

#: Arguments that can be corrected, and the tags that are logged.
CORRECTED_CALLS: dict[str, tuple[str, Callable[[SummaryWriter], None]]] = {
    "text": ("text_string", lambda w: w.add_text("a", 5)),  # type: ignore[arg-type]
    "audio nan": ("snd_tensor", lambda w: w.add_audio("a", [0.5, float("nan")])),
    "pr range": ("predictions", lambda w: w.add_pr_curve("a", [1, 0], [1.5, -1])),
    "box labels": (
        "labels",
        lambda w: w.add_image_with_boxes(
            "a", np.zeros((3, 9, 9)), [[1, 1, 5, 5]], labels=["x", "y"]
        ),
    ),
}


def make_figure(inches: int) -> Any:
    figure = pytest.importorskip("matplotlib.figure").Figure(figsize=(inches, inches), dpi=20)
    figure.subplots().plot([1, 2])
    return figure


@pytest.mark.parametrize("name", CORRECTED_CALLS)
def test_corrected_arguments_are_logged_with_a_warning(tmp_path: Path, name: str) -> None:
    argument, call = CORRECTED_CALLS[name]
    with SummaryWriter(tmp_path / "default") as writer:
        with pytest.warns(UsageWarning, match=f"`{argument}`") as caught:
            call(writer)
        assert [warning.filename for warning in caught] == [__file__]
    tags = [value.tag.decode().partition("/")[0] for value in read_values(tmp_path / "default")]
    assert tags == ["a"]
    with SummaryWriter(tmp_path / "strict", strict=True) as writer:
        with pytest.raises(UsageError, match=f"`{argument}`"):
            call(writer)


def test_too_long_text_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MAX_TEXT_BYTES", 10)
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_text("a", "x" * 10)
        with pytest.raises(UsageError, match="`text_string` has 11 bytes; the maximum is 10"):
            writer.add_text("a", "x" * 11)
    assert len(read_values(tmp_path)) == 1


def test_embedding_of_the_same_step_is_overwritten(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_embedding(np.zeros((2, 3)), global_step=7, tag="words")
        with pytest.warns(
            UsageWarning, match="7 was already logged for 'words'; the embedding was"
        ):
            writer.add_embedding(np.ones((2, 3)), global_step=7, tag="words")
    (tensor,) = tmp_path.glob("00007/*/tensors.tsv")
    assert {float(it) for it in tensor.read_text().split()} == {1.0}


def test_embedding_needs_a_local_directory() -> None:
    pytest.importorskip("fsspec")
    with SummaryWriter("memory://bucket/run", strict=True) as writer:
        with pytest.raises(UsageError, match="`log_dir` must be a local directory for the projec"):
            writer.add_embedding(np.zeros((2, 3)))


def test_sprites_of_gray_images(tmp_path: Path) -> None:
    pil_image = pytest.importorskip("PIL.Image")
    images = np.array([0.0, 1.0]).reshape(2, 1, 1, 1) * np.ones((2, 1, 4, 4))
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_embedding(np.zeros((2, 3)), label_img=images)
    (path,) = tmp_path.glob("*/*/sprite.png")
    pixels = np.asarray(pil_image.open(path).convert("RGB"))
    assert pixels[0, 0].tolist() == [0, 0, 0]
    assert pixels[0, 4].tolist() == [255, 255, 255]


def test_image_with_boxes_can_be_scaled(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_image_with_boxes("i", np.zeros((3, 10, 20)), [[1, 1, 5, 5]], rescale=2)
    (value,) = read_values(tmp_path)
    assert (value.image.width, value.image.height) == (40, 20)


def test_default_bins_are_those_of_torch(tmp_path: Path) -> None:
    edge, positive = 1e-12, []
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    with SummaryWriter(tmp_path) as writer:
        np.testing.assert_allclose(
            writer.default_bins, [*(-it for it in reversed(positive)), 0, *positive], rtol=1e-12
        )


def test_file_writer_is_like_that_of_tensorboard(tmp_path: Path) -> None:
    graph = proto.GraphDef(node=[proto.NodeDef(name=b"x", op=b"Const")])
    stats = proto.RunMetadata()
    writer = FileWriter(str(tmp_path))
    assert writer.get_logdir() == writer.event_writer.get_logdir() == str(tmp_path)
    writer.add_graph((graph, stats), walltime=5.0)
    writer.close()
    writer.reopen()
    writer.reopen()
    writer.add_onnx_graph(graph)
    writer.close()
    first, second = (
        [proto.parse("Event", it) for it in payloads] for payloads in read_files(tmp_path)
    )
    assert [it.wall_time for it in first] == [5.0, 5.0]
    assert proto.parse("GraphDef", first[0].graph_def).node[0].name == b"x"
    assert first[1].tagged_run_metadata.tag == b"step1"
    assert second[0].graph_def == first[0].graph_def


def read_files(logdir: Path) -> list[list[bytes]]:
    """Return the payloads of each file but its header, the oldest file first."""
    files = sorted(list_files(logdir), key=lambda it: it.stat().st_mtime_ns)
    return [[payload for _, payload in iter_records(it.read_bytes())][1:] for it in files]


@pytest.mark.parametrize("name", INVALID_CALLS)
def test_misuse_warns_or_raises(tmp_path: Path, name: str) -> None:
    argument, call = INVALID_CALLS[name]
    with SummaryWriter(tmp_path / "default") as writer:
        with pytest.warns(UsageWarning, match=f"logged nothing: `{argument}`") as caught:
            call(writer)
        assert [warning.filename for warning in caught] == [__file__]
        writer.add_scalar("after", 1.0)
    assert [value.tag for value in read_values(tmp_path / "default")] == [b"after"]
    with SummaryWriter(tmp_path / "strict", strict=True) as writer:
        with pytest.raises(UsageError, match=f"`{argument}`"):
            call(writer)


def test_histogram_omits_nan_and_infinities(tmp_path: Path) -> None:
    numbers = [1.0, float("nan"), 2.0, float("inf")]
    with SummaryWriter(tmp_path) as writer, pytest.warns(UsageWarning, match="2 NaN or inf"):
        writer.add_histogram("h", numbers)
        writer.add_histogram("h", numbers, bins=3)
    for value in read_values(tmp_path):
        assert (value.histo.min, value.histo.max, value.histo.num) == (1.0, 2.0, 2)
        assert sum(value.histo.bucket) == 2


def test_histogram_copies_the_numbers(tmp_path: Path) -> None:
    numbers = np.ones(1000, np.float32)
    with SummaryWriter(tmp_path, strict=True) as writer:
        for step in range(50):
            numbers[:] = step
            writer.add_histogram("h", numbers, step)
    values = [(event.step, event.summary.value[0].histo.max) for event in iter_events(tmp_path)]
    assert values == [(step, float(step)) for step in range(50)]


def test_nan_pixels_are_black(tmp_path: Path) -> None:
    pil_image = pytest.importorskip("PIL.Image")
    pixels = np.full((1, 2, 2), 0.5)
    pixels[0, 0, 0] = np.nan
    with SummaryWriter(tmp_path) as writer, pytest.warns(UsageWarning, match="NaN"):
        writer.add_image("i", pixels)
    (value,) = read_values(tmp_path)
    image = pil_image.open(io.BytesIO(value.image.encoded_image_string))
    assert np.asarray(image)[:, :, 0].tolist() == [[0, 127], [127, 127]]


def test_video_is_a_gif_with_all_frames(tmp_path: Path) -> None:
    pil_image = pytest.importorskip("PIL.Image")
    video = np.zeros((3, 4, 3, 6, 8), np.uint8)
    for index in range(4):
        video[:, index] = index * 60
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_video("v", video, 1, fps=5)
    (value,) = read_values(tmp_path)
    gif = pil_image.open(io.BytesIO(value.image.encoded_image_string))
    assert (gif.format, gif.n_frames, gif.info["duration"]) == ("GIF", 4, 200)
    # Three videos are arranged in a grid of four; the last cell is empty.
    assert (gif.size, value.image.width, value.image.height) == ((32, 6), 32, 6)
    gif.seek(3)
    frame = np.asarray(gif.convert("RGB"))
    assert frame[0, 0].tolist() == [180, 180, 180]
    assert frame[-1, -1].tolist() == [0, 0, 0]


def test_16_bit_audio_is_unchanged(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_audio("a", np.array([[0, 1000, -1000]], np.int16), sample_rate=8000)
    (value,) = read_values(tmp_path)
    assert value.audio.encoded_audio_string[44:] == b"\x00\x00\xe8\x03\x18\xfc"
    assert (value.audio.sample_rate, value.audio.length_frames) == (8000, 3)


def test_clips_audio(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.warns(UsageWarning, match="clipped"):
        writer.add_audio("a", [2.0, -2.0])
    (value,) = read_values(tmp_path)
    assert value.audio.encoded_audio_string[44:] == b"\xff\x7f\x01\x80"


def test_narrow_tensors_can_be_read(tmp_path: Path) -> None:
    arrays = [np.array([1, 200], np.uint8), np.array([0.5, -2], np.float16)]
    with SummaryWriter(tmp_path, strict=True) as writer:
        for array in arrays:
            writer.add_tensor("t", array)
    decoded = [decode_tensor(value.tensor).tolist() for value in read_values(tmp_path)]
    assert decoded == [array.tolist() for array in arrays]


def test_hparams_of_other_types_are_logged_as_strings(tmp_path: Path) -> None:
    hparams = {"layers": [1, 2], "lr": np.float32(0.5), "none": None}
    with (
        SummaryWriter(tmp_path) as writer,
        pytest.warns(UsageWarning, match='"layers" of type list'),
    ):
        writer.add_hparams(hparams, {"loss": 0.25}, run_name="trial")
    experiment, start, _, loss = read_values(tmp_path / "trial")
    content = start.metadata.plugin_data.content
    assert b"[1, 2]" in content and b"none" not in content
    assert experiment.tag == b"_hparams_/experiment"
    assert (loss.tag, loss.simple_value) == (b"loss", 0.25)


def test_nested_hparams_have_names_with_slashes(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_hparams({"optimizer": {"lr": 0.5}}, {}, run_name="trial")
    _, start, _ = read_values(tmp_path / "trial")
    assert b"optimizer/lr" in start.metadata.plugin_data.content


def test_reads_onnx_file_without_the_onnx_package(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(make_onnx_model())
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_onnx_graph(tmp_path / "model.onnx")
    (event,) = iter_events(tmp_path)
    graph = proto.parse("GraphDef", event.graph_def)
    nodes = [(node.name, node.op, list(node.input)) for node in graph.node]
    assert nodes == [(b"x", b"Variable", []), (b"y", b"Conv", [b"x"])]
    dims = [dim.size for dim in graph.node[0].attr[1].value.shape.dim]
    assert dims == [1, 300]
    assert graph.node[1].attr[0].value.s == b"pads = [1, 2], alpha = 0.5, mode = same"


def make_onnx_model() -> bytes:
    """Return a model with a convolution from x, of shape [1, 300], to y."""

    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    dims = field(1, b"\x08\x01") + field(1, b"\x08\xac\x02")
    x = field(1, b"x") + field(2, field(1, b"\x08\x01" + field(2, dims)))
    pads = field(1, b"pads") + field(8, b"\x01\x02")
    alpha = field(1, b"alpha") + b"\x15\x00\x00\x00\x3f"
    mode = field(1, b"mode") + field(4, b"same")
    node = field(1, b"x") + field(2, b"y") + field(4, b"Conv")
    node += field(5, pads) + field(5, alpha) + field(5, mode)
    return field(7, field(1, node) + field(11, x) + field(12, field(1, b"y")))
