"""tracklight writes the same records as ``torch.utils.tensorboard``, mostly the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.frameworks.written_summaries import list_contents
from tests.writer.event_files import iter_events, read_values

pytest.importorskip("torch")
original = pytest.importorskip("torch.utils.tensorboard")

import torch  # noqa: E402

from tests.frameworks.writer_calls import (  # noqa: E402
    CALLS,
    CLIPPED_IMAGES,
    HISTOGRAMS,
    WALL,
    make_images,
    make_range,
)
from tracklight.errors import UsageWarning  # noqa: E402
from tracklight.torch import SummaryWriter  # noqa: E402


def write_both(
    tmp_path: Path, call: Callable[[Any], None], strict: bool = True
) -> tuple[Path, Path]:
    with original.SummaryWriter(tmp_path / "original") as writer:
        call(writer)
    with SummaryWriter(tmp_path / "ours", strict=strict) as writer:
        call(writer)
    return tmp_path / "original", tmp_path / "ours"


@pytest.mark.parametrize("name", CALLS)
def test_same_bytes(tmp_path: Path, name: str) -> None:
    theirs, ours = map(list_contents, write_both(tmp_path, CALLS[name]))
    assert any(values for _, values in theirs)
    assert ours == theirs


@pytest.mark.parametrize("name", CLIPPED_IMAGES)
def test_same_bytes_of_clipped_images(tmp_path: Path, name: str) -> None:
    theirs, ours = map(list_contents, write_both(tmp_path, CLIPPED_IMAGES[name]))
    assert theirs[0][1]
    assert ours == theirs


def test_same_bytes_of_clipped_audio(tmp_path: Path) -> None:
    with pytest.warns(UsageWarning, match="clipped"):
        both = write_both(
            tmp_path, lambda w: w.add_audio("a", make_range(42) - 20, 1), strict=False
        )
    theirs, ours = map(list_contents, both)
    assert theirs[0][1]
    assert ours == theirs


@pytest.mark.parametrize("name", HISTOGRAMS)
def test_same_histograms(tmp_path: Path, name: str) -> None:
    theirs, ours = map(read_values, write_both(tmp_path, HISTOGRAMS[name]))
    for mine, other in zip(ours, theirs, strict=True):
        # Sums differ in the last digits, because the order of additions differs.
        for total in ("sum", "sum_squares"):
            added, expected = getattr(mine.histo, total), getattr(other.histo, total)
            assert added == pytest.approx(expected, rel=1e-12)
            setattr(mine.histo, total, expected)
        assert mine == other


def test_same_hparams_in_any_order(tmp_path: Path) -> None:
    hparams = {"lr": 0.1, "opt": "sgd", "layers": 3}
    theirs, ours = map(
        read_values,
        write_both(tmp_path, lambda w: w.add_hparams(hparams, {"m": 1}, run_name=".")),
    )
    assert [value.tag for value in ours] == [value.tag for value in theirs]
    assert ours[0] == theirs[0]
    lengths = [len(value.metadata.plugin_data.content) for value in ours]
    assert lengths == [len(value.metadata.plugin_data.content) for value in theirs]


def test_same_embedding_files(tmp_path: Path) -> None:
    matrix = torch.tensor(make_images(7, 5))

    def call(writer: Any) -> None:
        writer.add_embedding(matrix, list("abcdefg"), torch.rand(7, 3, 6, 6, generator=seed()), 2)
        writer.add_embedding(matrix * 2, [[1, "x"]] * 7, None, 3, "a/b%\\", ["number", "text"])
        writer.add_embedding(matrix.numpy())
        labels = torch.tensor([33.0, 44.0, 55.0, 1, 2, 3, 4])
        pictures = torch.zeros((7, 3, 5, 5), dtype=torch.float64)
        writer.add_embedding(matrix, labels.tolist(), pictures, 4)
        rows = list(zip(labels, "abcdefg", strict=True))
        writer.add_embedding(matrix, rows, pictures, 5, metadata_header=["digit", "set"])

    theirs, ours = (read_files(logdir) for logdir in write_both(tmp_path, call))
    assert len(theirs) == 13
    assert ours == theirs


def test_tensor_labels_are_written_as_numbers(tmp_path: Path) -> None:
    theirs, ours = (
        read_files(logdir)["00000/default/metadata.tsv"]
        for logdir in write_both(
            tmp_path, lambda w: w.add_embedding(torch.eye(2), torch.tensor([33.0, 44.0]))
        )
    )
    assert theirs == b"tensor(33.)\ntensor(44.)\n"
    assert ours == b"33.0\n44.0\n"


def seed() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def read_files(logdir: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(logdir)): path.read_bytes()
        for path in logdir.rglob("*")
        if path.is_file() and "tfevents" not in path.name
    }


def test_figures_are_closed_by_default(tmp_path: Path) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    figures = [pyplot.figure(figsize=(1, 1)) for _ in range(2)]
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_figure("f", figures, 0, close=False)
        assert all(pyplot.fignum_exists(figure.number) for figure in figures)
        writer.add_figure("f", figures, 1)
        assert not any(pyplot.fignum_exists(figure.number) for figure in figures)
    assert writer.file_writer is None


def test_same_purge_markers(tmp_path: Path) -> None:
    original.SummaryWriter(tmp_path / "original", purge_step=6).close()
    SummaryWriter(tmp_path / "ours", purge_step=6).close()
    theirs, ours = (list(iter_events(tmp_path / name)) for name in ("original", "ours"))
    for event in [*theirs, *ours]:
        event.ClearField("wall_time")
    assert len(ours) == 2
    assert ours == theirs


def test_accepts_messages_of_tensorboard(tmp_path: Path) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from torch.utils.tensorboard.summary import hparams, scalar

    def call(writer: Any) -> None:
        for summary in hparams({"lr": 0.1}, {"m": 1}):
            writer.file_writer.add_summary(summary)
        writer.file_writer.add_summary(scalar("a", 1.5), 3, WALL)
        writer.file_writer.add_event(Event(summary=scalar("b", 2.5)), 4)
        writer.file_writer.event_writer.add_event(Event(step=7, summary=scalar("c", 3.5)))

    theirs, ours = map(list_contents, write_both(tmp_path, call))
    assert len(theirs[0][1]) == 6
    assert ours == theirs
