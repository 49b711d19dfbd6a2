"""``tracklight export --kind``: other data than scalars, read back with independent libraries."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.builders import scalar
from tests.small_log import PICTURE, write
from tracklight import hparams, summary
from tracklight.cli import main
from tracklight.formats import summary as encode
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record

SUFFIXES = ("csv", "json", "jsonl", "parquet")

Rows = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def isolated_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))


def export(logdir: Path, kind: str, out: Path, *flags: str) -> Path:
    status = main(["export", str(logdir), f"--kind={kind}", f"--out={out}", "--no-config", *flags])
    assert status == 0
    return out


def read_rows(path: Path) -> Rows:
    """Read a table by its suffix; cells of CSV are strings."""
    data = path.read_bytes()
    if path.suffix == ".csv":
        return list(csv.DictReader(io.StringIO(data.decode(), newline="")))
    if path.suffix == ".json":
        return list(json.loads(data))
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in data.splitlines()]
    parquet = pytest.importorskip("pyarrow.parquet")
    return list(parquet.read_table(path).to_pylist())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_format_follows_the_suffix(small_logdir: Path, tmp_path: Path, suffix: str) -> None:
    out = export(small_logdir, "scalars", tmp_path / f"x.{suffix}", "--run=run10/train")
    rows = read_rows(out)
    if suffix == "json":  # one object per series, with columns
        assert [row["value"] for row in rows] == [[0.5], [2.5]]
    else:
        assert [float(row["value"]) for row in rows] == [0.5, 2.5]


def test_format_flag_overrides_the_suffix(small_logdir: Path, tmp_path: Path) -> None:
    out = export(small_logdir, "scalars", tmp_path / "table.txt", "--format=csv")
    assert out.read_text().startswith("run,tag,step,wall_time,value\n")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_text(small_logdir: Path, tmp_path: Path, suffix: str) -> None:
    rows = read_rows(export(small_logdir, "text", tmp_path / f"x.{suffix}"))
    # The two strings at step 5 were overwritten by the last one.
    rows = [
        (row["run"], row["tag"], int(row["step"]), int(row["index"]), row["text"]) for row in rows
    ]
    assert rows == [("kinds", "words", 0, 0, "hello"), ("kinds", "words", 5, 0, "again")]

    rows = read_rows(export(small_logdir, "text", tmp_path / f"y.{suffix}", "--overwritten"))
    assert [(int(row["index"]), row["text"]) for row in rows] == [
        (0, "hello"),
        (0, "a"),
        (1, "b"),
        (0, "again"),
    ]
    assert [row["overwritten"] in (True, "true") for row in rows] == [False, True, True, False]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_histograms(tmp_path: Path, suffix: str) -> None:
    logdir = tmp_path / "logs"
    with summary.create_file_writer(str(logdir / "run")).as_default():
        for step in range(3):
            summary.histogram("weights", np.arange(100.0) + step, step=step, buckets=4)
    rows = read_rows(export(logdir, "histograms", tmp_path / f"x.{suffix}"))
    if suffix in ("json", "jsonl"):
        assert [row["step"] for row in rows] == [0, 1, 2]
        rows = [
            {"step": row["step"], "left": left, "right": right, "count": count}
            for row in rows
            for left, right, count in zip(row["left"], row["right"], row["count"], strict=True)
        ]
    assert [int(row["step"]) for row in rows] == [step for step in range(3) for _ in range(4)]
    last = rows[-1]
    assert [float(last[name]) for name in ("left", "right", "count")] == [76.25, 101.0, 25.0]


def test_exports_images_to_a_folder(small_logdir: Path, tmp_path: Path) -> None:
    out = export(small_logdir, "images", tmp_path / "images")
    rows = read_rows(out / "index.csv")
    assert [(row["run"], row["tag"], row["step"], row["index"]) for row in rows] == [
        ("kinds", "picture", "0", "0"),
        ("kinds", "picture", "0", "1"),
    ]
    assert [row["file"] for row in rows] == [
        "kinds/picture/step-00000000-0.png",
        "kinds/picture/step-00000000-1.png",
    ]
    assert [(row["width"], row["height"]) for row in rows] == [("2", "2")] * 2
    assert all((out / row["file"]).read_bytes() == PICTURE for row in rows)
    assert not [path for path in tmp_path.iterdir() if ".part" in path.name]


def test_exports_images_to_a_zip_file(small_logdir: Path, tmp_path: Path) -> None:
    out = export(small_logdir, "images", tmp_path / "images.zip", "--format=jsonl")
    with zipfile.ZipFile(out) as archive:
        rows = [json.loads(line) for line in archive.read("index.jsonl").splitlines()]
        assert [archive.read(row["file"]) for row in rows] == [PICTURE] * 2


def test_audio(small_logdir: Path, tmp_path: Path) -> None:
    out = export(small_logdir, "audio", tmp_path / "audio")
    (row,) = read_rows(out / "index.csv")
    assert row["file"] == "kinds/clip/step-00000000.wav"
    assert (float(row["sample_rate"]), row["label"]) == (8000.0, "a **note**")
    assert (out / row["file"]).read_bytes().startswith(b"RIFF")


def test_file_names_stay_inside_the_folder(tmp_path: Path) -> None:
    values = [encode.images(tag, [PICTURE], 2, 2) for tag in ("../../up", "/etc/x", "a\0b", "a:b")]
    write(tmp_path / "logs", *(encode_record(encode_event(1.7e9, 0, [value])) for value in values))
    out = export(tmp_path / "logs", "images", tmp_path / "images")
    rows = read_rows(out / "index.csv")
    assert len(rows) == 4
    for row in rows:
        path = (out / row["file"]).resolve()
        assert path.is_relative_to(out) and path.read_bytes() == PICTURE
    assert len({row["file"] for row in rows}) == 4


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_hparams(tmp_path: Path, suffix: str) -> None:
    logdir = tmp_path / "logs"
    for name, rate, optimizer in (("a", 0.1, "sgd"), ("b", 0.01, "adam")):
        with summary.create_file_writer(str(logdir / name)).as_default():
            hparams.hparams({"lr": rate, "optimizer": optimizer, "nesterov": name == "a"})
            for step in range(3):
                summary.scalar("loss", rate * step, step=step)
    rows = read_rows(export(logdir, "hparams", tmp_path / f"x.{suffix}"))
    assert [row["run"] for row in rows] == ["a", "b"]
    assert [float(row["hparams.lr"]) for row in rows] == [0.1, 0.01]
    assert [row["hparams.optimizer"] for row in rows] == ["sgd", "adam"]
    assert [row["hparams.nesterov"] in (True, "true") for row in rows] == [True, False]
    assert [float(row["metrics.loss"]) for row in rows] == pytest.approx([0.2, 0.02])

    only = read_rows(export(logdir, "hparams", tmp_path / f"y.{suffix}", "--run=b"))
    assert [row["run"] for row in only] == ["b"]


def test_mixed_hyperparameters_become_strings(tmp_path: Path) -> None:
    logdir = tmp_path / "logs"
    for name, value in (("a", 3), ("b", "auto")):
        write(logdir / name, scalar("loss", 0, 0.5))
        (logdir / name / "hparams.json").write_text(json.dumps({"workers": value}))
    rows = read_rows(export(logdir, "hparams", tmp_path / "x.parquet"))
    assert [row["hparams.workers"] for row in rows] == ["3", "auto"]
