from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracklight
from tests import builders as b
from tests.small_log import CLIP, NAME, PICTURE, PIXELS
from tracklight.errors import (
    CorruptRecordError,
    FormatError,
    LogError,
    NoMatchWarning,
    RunNotFoundError,
    TagNotFoundError,
    UsageError,
)
from tracklight.formats import proto, summary
from tracklight.formats.media import encode_png
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record
from tracklight.types import Kind


@pytest.fixture
def log(small_logdir: Path) -> Iterator[tracklight.Log]:
    with tracklight.open(small_logdir, cache=False) as log:
        yield log


def test_runs_are_in_natural_order(log: tracklight.Log) -> None:
    assert log.runs == ("kinds", "run2/train", "run10/train")
    assert log.points == 9 + 2 + 1
    assert "3 runs, 12 points" in repr(log)


def test_returns_tags_by_name(log: tracklight.Log) -> None:
    tags = log.tags("run2/train")

    assert list(tags) == ["count", "loss"]
    assert (tags["loss"].kind, tags["loss"].count, tags["loss"].overwritten) == (Kind.SCALAR, 8, 2)


def test_results_are_copies_or_read_only(log: tracklight.Log) -> None:
    log.tags("run2/train").clear()
    series = log.scalar("run2/train", "loss")

    assert log.tags("run2/train")
    with pytest.raises(ValueError, match="read-only"):
        series.value[0] = 7


def test_files(log: tracklight.Log, small_logdir: Path) -> None:
    (file,) = log.files("run10/train")

    assert file.path == str(small_logdir / "run10/train" / NAME)
    assert (file.records, file.damaged) == (2, 0)


def test_scalar_returns_all_points(log: tracklight.Log) -> None:
    series = log.scalar("run2/train", "loss")

    assert series.step.tolist() == [0, 1, 2, 3, 4, 3, 4, 5]
    assert series.wall_time[-1] == 1.7e9 + 5
    assert series.without_overwritten().value.tolist() == pytest.approx([1, 1 / 2, 1 / 3, 3, 4, 5])


def test_integers_are_not_rounded(log: tracklight.Log) -> None:
    assert log.scalar("run2/train", "count").value.tolist() == [1 << 60]


def test_scalars_returns_a_long_table(log: tracklight.Log) -> None:
    table = log.scalars(tag="loss")

    assert list(dict.fromkeys(table["run"])) == ["run2/train", "run10/train"]
    assert table["step"].tolist() == [0, 1, 2, 3, 4, 5, 0]
    assert len(log.scalars(tag="loss", overwritten=True)) == 9


def test_scalars_accepts_globs_and_regular_expressions(log: tracklight.Log) -> None:
    table = log.scalars(run="run*/train", tag=["acc", re.compile("^cou")])

    assert sorted(set(table["tag"])) == ["acc", "count"]
    assert len(log.scalars(run="kinds")) == 1  # the number among the arrays of "mixed"
    with pytest.warns(NoMatchWarning):
        assert len(log.scalars(run="x*")) == 0


def test_errors_name_the_most_similar(log: tracklight.Log) -> None:
    with pytest.raises(RunNotFoundError, match='nearest: "run2/train"'):
        log.tags("run2/trian")
    with pytest.raises(TagNotFoundError, match='no tag "los" in run "run2/train"; nearest: "loss"'):
        log.scalar("run2/train", "los")
    with pytest.raises(TagNotFoundError, match='no tag "los" in any run; nearest: "loss"'):
        log.scalars(tag="los")
    with pytest.raises(RunNotFoundError):
        log.files("run")


def test_errors_name_the_method_for_the_kind(log: tracklight.Log) -> None:
    with pytest.raises(UsageError, match=r"of kind scalar, not image; read it with log\.scalar"):
        log.images("run2/train", "loss")
    with pytest.raises(UsageError, match=r"of kind graph, not scalar; read it with log\.graph"):
        log.scalar("kinds", "__run_graph__")
    with pytest.raises(UsageError, match=r'"words" in run "kinds" belongs to text, not pr_curves'):
        log.pr_curves("kinds", "words")


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (
            {"run": "zzz*"},
            'No run matches "zzz*". Known runs: "kinds", "run2/train", "run10/train"',
        ),
        ({"run": "run*"}, '"*" does not match "/"; did you mean "run**"?'),
        ({"tag": "re:^los$"}, 'No tag matches "re:^los$". Similar tags: "loss"'),
        ({"run": "run2/train", "tag": ["loss", "acc*"]}, 'No tag matches "acc*".'),
        ({"run": "kinds", "tag": "picture"}, "hold no scalars, but values of kind image"),
    ],
)
def test_warns_about_patterns_without_a_match(
    selection: dict[str, Any], message: str, log: tracklight.Log
) -> None:
    with pytest.warns(NoMatchWarning) as caught:
        log.scalars(**selection)

    (warning,) = caught
    assert message in str(warning.message)
    assert warning.filename == __file__


def test_warnings_of_a_run_view_point_at_the_caller(log: tracklight.Log) -> None:
    with pytest.warns(NoMatchWarning) as caught:
        log["run2/train"].scalars("zzz*")

    assert [warning.filename for warning in caught] == [__file__]


def test_does_not_warn_about_patterns_with_a_match(
    log: tracklight.Log, recwarn: pytest.WarningsRecorder
) -> None:
    log.scalars()
    log.scalars(run=["run*/train", "kinds"], tag=["re:loss", "mixed"])
    log.select(run="zzz*")

    assert not recwarn.list


def test_log_is_a_collection_of_runs(log: tracklight.Log, tmp_path: Path) -> None:
    assert len(log) == 3
    assert list(log) == list(log.runs)
    assert "kinds" in log and "kind" not in log
    with tracklight.open(tmp_path, include="none", cache=False) as empty:
        assert len(empty) == 0 and empty


def test_run_view_returns_the_same_as_the_log(log: tracklight.Log) -> None:
    train, kinds = log["run2/train"], log["kinds"]

    assert list(train) == ["count", "loss"] and len(train) == 2
    assert "loss" in train and "acc" not in train
    assert train.tags() == log.tags("run2/train")
    assert train.files() == log.files("run2/train")
    assert train.scalar("loss").value.tolist() == log.scalar("run2/train", "loss").value.tolist()
    assert len(train.scalars("loss", overwritten=True)) == 8
    assert kinds.images("picture")[0] == log.images("kinds", "picture")[0]
    assert kinds.audio("clip")[0] == log.audio("kinds", "clip")[0]
    assert kinds.text("words")[0].item() == "hello"
    assert kinds.histograms("spread")[0].counts.sum() == 3
    assert kinds.tensors("matrix")[0].tolist() == [[1, 0], [0, 1]]
    assert repr(train) == '<RunView "run2/train": 2 tags>'


def test_raises_for_an_unknown_run_view(log: tracklight.Log) -> None:
    with pytest.raises(RunNotFoundError, match='nearest: "run2/train"'):
        log["run2/trian"]


def test_run_view_reflects_refreshes(log: tracklight.Log, small_logdir: Path) -> None:
    run = log["run10/train"]
    with (small_logdir / "run10/train" / NAME).open("ab") as file:
        file.write(b.scalar("new", 0, 0.0))
    log.refresh()

    assert "new" in run


def test_raises_for_a_run_without_a_graph(log: tracklight.Log) -> None:
    with pytest.raises(LogError, match='Run "run2/train" has no graph'):
        log.graph("run2/train")


def test_image_size_falls_back_to_the_file(tmp_path: Path) -> None:
    wide = encode_png(np.zeros((2, 5, 3), np.uint8))
    values = [
        summary.images("sized", [wide], 7, 9),
        summary.images("unsized", [wide], 0, 0),
        summary.images("broken", [b"\x89PNG nothing"], 0, 0),
    ]
    (tmp_path / NAME).write_bytes(encode_record(encode_event(1.7e9, 0, values)))

    with tracklight.open(tmp_path, cache=False) as log:
        sizes = {tag: (it.width, it.height) for tag in log["."] for it in log.images(".", tag)}
    assert sizes == {"sized": (7, 9), "unsized": (5, 2), "broken": (0, 0)}


def test_values_have_short_representations(log: tracklight.Log) -> None:
    kinds = log["kinds"]
    size = len(PICTURE) * 2

    assert repr(kinds.images("picture")[0]) == f"<Images: 2 images of 2 x 2 pixels, {size} bytes>"
    assert repr(kinds.audio("clip")[0]).startswith("<Audio: 1 clip at 8000 Hz, audio/wav, ")
    assert repr(kinds.histograms("spread")[0]).startswith("<Histogram: ")


def test_pr_curves(tmp_path: Path) -> None:
    rows = np.array([[2, 1], [1, 0], [0, 1], [0, 1], [2 / 3, 1], [1, 0.5]])
    value = summary.tensor(
        "pr", rows, summary.make_metadata("pr_curves", proto.PrCurvePluginData())
    )
    (tmp_path / NAME).write_bytes(encode_record(encode_event(1.7e9, 3, [value])))

    with tracklight.open(tmp_path, cache=False) as log:
        (curve,) = log.pr_curves(".", "pr")
        with pytest.raises(TagNotFoundError, match='nearest: "pr"'):
            log.pr_curves(".", "prc")
    assert curve.threshold.tolist() == [0, 1]
    assert curve.recall.tolist() == [1, 0.5]
    assert curve.metrics.average_precision == pytest.approx(0.5 * 2 / 3 + 0.5)
    assert repr(curve) == "<PRCurve: 2 thresholds, average precision 0.8333>"


def test_joins_the_parts_of_meshes(tmp_path: Path) -> None:
    corners, sides = np.zeros((1, 4, 3), np.float32), np.array([[[0, 1, 2]]], np.int32)
    about = summary.make_metadata(
        "mesh", proto.MeshPluginData(json_config=b'{"camera": {"fov": 40}}')
    )
    logged = [
        (0, [("cube_VERTEX", corners), ("cube_FACE", sides)]),
        (5, [("cube_VERTEX", corners + 1)]),
    ]
    records = [
        encode_record(
            encode_event(1.7e9, step, [summary.tensor(tag, it, about) for tag, it in values])
        )
        for step, values in logged
    ]
    (tmp_path / NAME).write_bytes(b"".join(records))

    with tracklight.open(tmp_path, cache=False) as log:
        meshes = log.meshes(".", "cube")
        first, second = meshes
        assert log.meshes(".", "cube_FACE").step.tolist() == [0, 5]
        with pytest.raises(TagNotFoundError, match='nearest: "cube"'):
            log.meshes(".", "cub")
    assert meshes.step.tolist() == [0, 5]
    assert second.vertices.tolist() == (corners + 1).tolist()
    assert second.faces is not None and second.faces.tolist() == sides.tolist()
    assert second.colors is None
    assert first.config == {"camera": {"fov": 40}}
    assert repr(first) == "<Mesh: vertices [1, 4, 3], faces [1, 1, 3]>"


def test_images(log: tracklight.Log) -> None:
    (images,) = log.images("kinds", "picture")

    assert images.encoded == (PICTURE, PICTURE)
    assert (images.width, images.height) == (2, 2)


def test_images_as_arrays(log: tracklight.Log) -> None:
    pytest.importorskip("PIL")
    first, second = log.images("kinds", "picture")[0].to_arrays()

    np.testing.assert_array_equal(first, PIXELS)
    np.testing.assert_array_equal(second, PIXELS)


def test_audio(log: tracklight.Log) -> None:
    (audio,) = log.audio("kinds", "clip")

    assert audio.clips == (CLIP,)
    assert audio.labels == ("a **note**",)
    assert audio.to_arrays()[0][:, 0].tolist() == pytest.approx([0, 0.5], abs=1e-4)


def test_text(log: tracklight.Log) -> None:
    texts = log.text("kinds", "words")

    assert texts.step.tolist() == [0, 5, 5]
    assert texts.overwritten.tolist() == [False, True, False]
    assert [text.tolist() for text in texts] == ["hello", ["a", "b"], "again"]


def test_histograms(log: tracklight.Log) -> None:
    (histogram,) = log.histograms("kinds", "spread")

    assert histogram.counts.sum() == 3


def test_tensors_of_any_plugin(log: tracklight.Log) -> None:
    assert log.tensors("kinds", "matrix")[0].tolist() == [[1, 0], [0, 1]]
    assert log.tensors("kinds", "words")[0].tolist() == b"hello"
    assert log.tensors("kinds", "__run_graph__")[0].tolist() == [b"graph"]
    assert log.tensors("run10/train", "acc")[0].shape == ()


def test_tensors_mix_numbers_and_arrays_in_write_order(log: tracklight.Log) -> None:
    mixed = log.tensors("kinds", "mixed")

    assert mixed.step.tolist() == [0, 1, 2]
    assert [value.tolist() for value in mixed] == [[1, 1, 1], 1.5, [0, 0]]


def test_raises_for_values_of_another_kind(tmp_path: Path) -> None:
    number = b.tensor(b.FLOAT, b.single(5, 1.0)) + b.metadata("images")
    array = b.tensor(b.FLOAT, b.shape(2), b.single(5, 1.0))
    values = [b.record(b.event(b.summary(b.value("x", it)), step=3)) for it in (number, array)]
    (tmp_path / NAME).write_bytes(b"".join(values))

    with tracklight.open(tmp_path, cache=False) as log:
        images = log.images(".", "x")
        for at in range(2):
            with pytest.raises(FormatError, match=r'"x" in run "\." at step 3'):
                images[at]


def test_refresh_reads_new_points(log: tracklight.Log, small_logdir: Path) -> None:
    assert len(log.scalar("run10/train", "acc")) == 1
    with (small_logdir / "run10/train" / NAME).open("ab") as file:
        file.write(b.scalar("acc", 1, 0.75) + b.scalar("new", 0, 0.0))
    (small_logdir / "later").mkdir()
    (small_logdir / "later" / NAME).write_bytes(b.scalar("loss", 0, 1.0))
    shutil.rmtree(small_logdir / "kinds")

    delta = log.refresh()

    assert (delta.added, delta.removed, delta.changed) == (("later",), ("kinds",), ("run10/train",))
    assert log.scalar("run10/train", "acc").value.tolist() == [0.5, 0.75]
    assert list(log.tags("run10/train")) == ["acc", "loss", "new"]
    assert "kinds" not in log.runs


def test_raises_for_a_deleted_file(log: tracklight.Log, small_logdir: Path) -> None:
    texts = log.text("kinds", "words")
    path = small_logdir / "kinds" / NAME
    path.write_bytes(bytes(path.stat().st_size))

    with pytest.raises(CorruptRecordError):
        texts[0]


def test_reads_several_roots_with_filters(small_logdir: Path) -> None:
    spec = {"a": small_logdir / "run2", "b": small_logdir}
    with tracklight.open(spec, cache=False, exclude="b/run2", include=["**/train"]) as log:
        assert log.runs == ("a/train", "b/run10/train")


def test_uses_the_given_cache_directory(small_logdir: Path, tmp_path: Path) -> None:
    for _ in range(2):
        with tracklight.open(small_logdir, cache=tmp_path / "cache", memory="1GB") as log:
            assert log.points == 12
            assert log.text("kinds", "words")[0].item() == "hello"
    assert any((tmp_path / "cache").rglob("*.pack"))


def test_missing_ok_reads_a_log_created_later(tmp_path: Path) -> None:
    with tracklight.open(tmp_path / "later", cache=False, missing_ok=True) as log:
        assert log.runs == ()
        (tmp_path / "later").mkdir()
        (tmp_path / "later" / NAME).write_bytes(b.scalar("loss", 0, 1.0))
        assert log.refresh().added == (".",)


def test_reports_unreadable_files(small_logdir: Path) -> None:
    (small_logdir / "notes.txt").touch()
    with tracklight.open(small_logdir / "notes.txt", cache=False) as log:
        assert "pass its directory" in log.problems[0]


def test_reads_a_single_event_file(small_logdir: Path) -> None:
    with tracklight.open(small_logdir / "kinds" / NAME, cache=False) as log:
        assert (log.runs, log.problems) == ((".",), ())
        assert "matrix" in log.tags(".")
