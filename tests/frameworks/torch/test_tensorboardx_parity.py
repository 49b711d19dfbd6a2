"""tracklight writes the same records as tensorboardX, unless PyTorch writes others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.frameworks.written_summaries import list_contents
from tests.writer.event_files import iter_events, list_files, read_values

pytest.importorskip("torch")
original = pytest.importorskip("tensorboardX")

from tests.frameworks.writer_calls import CALLS, CLIPPED_IMAGES, CUBE, HISTOGRAMS, WALL  # noqa: E402
from tracklight.torch import SummaryWriter  # noqa: E402

#: Calls with arguments that tensorboardX does not have.
NOT_THERE = ("scalar new", "scalar double", "tensor", "hparams")
#: tensorboardX differs in run names, tags and audio samples; see the tests below.
OTHERWISE = ("scalars", "mesh", "points", "audio")
SAME = {name: call for name, call in CALLS.items() if not name.startswith(NOT_THERE + OTHERWISE)}


def write_both(tmp_path: Path, call: Callable[[Any], object]) -> tuple[Path, Path]:
    theirs, ours = tmp_path / "original", tmp_path / "ours"
    with original.SummaryWriter(str(theirs)) as writer:
        call(writer)
    with SummaryWriter(ours) as writer:
        call(writer)
    return theirs, ours


@pytest.mark.parametrize("name", SAME)
def test_same_bytes(tmp_path: Path, name: str) -> None:
    theirs, ours = map(list_contents, write_both(tmp_path, SAME[name]))
    assert any(values for _, values in theirs)
    assert ours == theirs


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("name", CLIPPED_IMAGES)
def test_images_are_clipped_where_tensorboardx_overflows(tmp_path: Path, name: str) -> None:
    theirs, ours = map(read_values, write_both(tmp_path, CLIPPED_IMAGES[name]))
    for value in (*theirs, *ours):
        assert value.image.encoded_image_string
        value.image.ClearField("encoded_image_string")
    assert ours == theirs


@pytest.mark.parametrize("name", [name for name in HISTOGRAMS if name != "bfloat16"])
def test_same_histograms(tmp_path: Path, name: str) -> None:
    theirs, ours = map(read_values, write_both(tmp_path, HISTOGRAMS[name]))
    assert len(theirs) == 1
    for mine, other in zip(ours, theirs, strict=True):
        for total in ("sum", "sum_squares"):
            expected = getattr(other.histo, total)
            assert getattr(mine.histo, total) == pytest.approx(expected, rel=1e-12)
            setattr(mine.histo, total, expected)
        assert mine == other


def test_add_scalars_names_runs_differently(tmp_path: Path) -> None:
    theirs, ours = map(list_contents, write_both(tmp_path, CALLS["scalars"]))
    assert [run for run, _ in theirs] == [".", "a/b/x", "a/b/y z"]
    assert [run for run, _ in ours] == [".", "a_b_x", "a_b_y z"]
    assert [values for _, values in ours] == [values for _, values in theirs]


@pytest.mark.parametrize("name", ["mesh", "points"])
def test_mesh_tags_differ(tmp_path: Path, name: str) -> None:
    theirs, ours = map(read_values, write_both(tmp_path, CALLS[name]))
    assert {value.tag for value in theirs} <= {b"m_1", b"m_2", b"m_3"}
    assert {value.tag for value in ours} <= {b"m_VERTEX", b"m_FACE", b"m_COLOR"}
    numbers = [sorted(tuple(value.tensor.float_val) for value in part) for part in (theirs, ours)]
    assert tuple(CUBE.flatten().tolist()) in numbers[1]
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize("shape", [(800,), (800, 1), (800, 2)])
def test_audio_samples_are_truncated_where_tensorboardx_rounds(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    pytest.importorskip("soundfile", reason="tensorboardX needs it for sound")
    sound = np.sin(np.arange(np.prod(shape)) / 9).reshape(shape)
    theirs, ours = map(read_values, write_both(tmp_path, lambda w: w.add_audio("a", sound, 1)))
    files = [value.audio.encoded_audio_string for value in (*theirs, *ours)]
    assert len(files[0]) == len(files[1]) == 44 + 2 * sound.size
    samples = [np.frombuffer(data[44:], "<i2").astype(int) for data in files]
    assert 1 <= np.abs(samples[0] - samples[1]).max() <= 2
    for value, data in zip((theirs[0], ours[0]), files, strict=True):
        value.audio.encoded_audio_string = data[:44]
    assert ours == theirs


UNUSUAL_TAGS = ["a b", "a:b", "/a", "ä😀", "a\\b", "%s", "a\nb"]


def test_same_text_with_unusual_tags(tmp_path: Path) -> None:
    def call(writer: Any) -> None:
        for tag in UNUSUAL_TAGS:
            writer.add_text(tag, "text 123", 1)

    theirs, ours = map(list_contents, write_both(tmp_path, call))
    assert len(theirs[0][1]) == len(UNUSUAL_TAGS)
    assert ours == theirs


def test_unusual_tags_are_not_sanitized(tmp_path: Path) -> None:
    theirs, ours = map(
        read_values, write_both(tmp_path, lambda w: [w.add_scalar(t, 1.0, 1) for t in UNUSUAL_TAGS])
    )
    assert [value.tag.decode() for value in ours] == UNUSUAL_TAGS
    assert [value.tag.decode() for value in theirs][:3] == ["a_b", "a_b", "a"]


def test_same_steps_and_times(tmp_path: Path) -> None:
    def call(writer: Any) -> None:
        writer.add_scalar("a", 1.0, 7, WALL)
        writer.add_scalar("a", 1.0, None, 0.0)
        writer.add_text("b", "c", 17, 13.0)
        writer.add_histogram("h", np.arange(3.0), 18, walltime=14.5)

    theirs, ours = (
        [(event.step, event.wall_time) for event in iter_events(logdir)]
        for logdir in write_both(tmp_path, call)
    )
    assert theirs == [(7, WALL), (0, 0.0), (17, 13.0), (18, 14.5)]
    assert ours == theirs


def test_same_hparams_of_numbers_and_strings(tmp_path: Path) -> None:
    for index, hparams in enumerate([{"lr": 0.1}, {"opt": "sgd"}]):
        theirs, ours = tmp_path / f"original{index}", tmp_path / f"ours{index}"
        with original.SummaryWriter(str(theirs)) as writer:
            writer.add_hparams(hparams, {"hparam/accuracy": 10}, name="trial")
        with SummaryWriter(ours, strict=True) as writer:
            writer.add_hparams(hparams, {"hparam/accuracy": 10}, run_name="trial")
        assert list_contents(theirs)[1][0] == "trial"
        assert list_contents(ours) == list_contents(theirs)


def test_two_writers_in_one_second_use_separate_files(tmp_path: Path) -> None:
    for _ in range(2):
        SummaryWriter(tmp_path, filename_suffix=".mine").close()
    first, second = list_files(tmp_path)
    assert first.name.endswith(".mine") and second.name.endswith(".mine")
