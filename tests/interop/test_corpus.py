"""Real logs are read as TensorBoard reads them, except for the differences listed here.

The repository contains the event files of every case. ``TRACKLIGHT_CORPUS=directory`` reads a full
corpus instead: ``logs/CASE`` and ``oracle/CASE.json``.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracklight
from tests.archives import extract
from tracklight.errors import CorruptRecordError, FormatError
from tracklight.reader import Log, Values
from tracklight.types import Kind, TagInfo

DATA = Path(__file__).parent.parent / "data"
CORPUS = os.environ.get("TRACKLIGHT_CORPUS")
CASES = ("jax legacy_v1 live_snapshot nasty sampling seed000 seed001 seed002 seed003 torch").split()

#: Known differences between tracklight and TensorBoard. Any other difference is a bug.
EXPECTED = {
    "legacy_v1": {
        # The histogram format of 2015 is listed and read as bytes; no reader supports it.
        'protos: only tracklight has "obsolete"',
    },
    "nasty": {
        # TensorBoard stops at the first corrupt record; tracklight skips it.
        "crc_data_flip_value: loss: 9 values, not 4",
        "crc_data_only: loss: 9 values, not 4",
        "crc_data_unparsable: loss: 9 values, not 4",
        "crc_length: loss: 9 values, not 4",
        # TensorBoard drops empty values without a plugin.
        'values_odd: only tracklight has "no_value"',
        # TensorBoard converts strings and arrays of one element to numbers.
        "dtypes: dtype/string: no points",
        "dtypes: enc/shape_1_1: no points",
        # tracklight shows bytes that are not UTF-8 as \\xff, which is longer.
        "text: t/invalid_utf8: last text ['ok \\\\xff\\\\xfe\\\\x80 bad'], not ['ok ��� bad']",
        "text: t/invalid_utf8: last total_bytes 19, not 10",
        # The minimum exceeds the maximum, so tracklight uses the limits of the buckets as edges.
        "histograms: h/v1_min_gt_max: last left 0.5, not 5.0",
        "histograms: h/v1_min_gt_max: last right 1.0, not -5.0",
        # The logged size is not a number; tracklight reads it from the image file.
        "images: img/dims_not_numbers: last h 6, not ",
        "images: img/dims_not_numbers: last w 9, not wide",
        # TensorBoard only notices this when the value is displayed.
        "histograms: h/2cols: cannot be read",
        # A marker file for profiles, which has no content.
        "no file odd_file_names/events.out.tfevents.1716779661.host.profile-empty",
    },
}

METHODS = {
    Kind.IMAGE: Log.images,
    Kind.AUDIO: Log.audio,
    Kind.TEXT: Log.text,
    Kind.HISTOGRAM: Log.histograms,
}


@pytest.mark.parametrize("case", CASES)
def test_reads_the_same_as_tensorboard(case: str, tmp_path: Path) -> None:
    oracle = read_oracle(case)
    with tracklight.open(unpack(case, tmp_path), cache=False) as log:
        found = set(iter_differences(log, oracle))

    assert found == EXPECTED.get(case, set())


def read_oracle(case: str) -> Any:
    if CORPUS:
        return json.loads((Path(CORPUS) / "oracle" / f"{case}.json").read_text("utf-8"))
    return json.loads(lzma.decompress((DATA / "corpus" / f"{case}.json.xz").read_bytes()))


def unpack(case: str, target: Path) -> Path:
    archive = DATA / "nasty.tar.gz" if case == "nasty" else DATA / "corpus" / f"{case}.tar.xz"
    if CORPUS and case != "nasty":
        return Path(CORPUS) / "logs" / case
    extract(Path(CORPUS) / "nasty.tar.gz" if CORPUS else archive, target)
    return target / case


def iter_differences(log: Log, oracle: Any) -> Iterator[str]:
    theirs = oracle["multiplexer"]["runs"]
    for run in sorted(theirs.keys() ^ set(log.runs)):
        yield f'only {"TensorBoard" if run in theirs else "tracklight"} has the run "{run}"'
    for run in theirs.keys() & set(log.runs):
        for difference in iter_run_differences(log, run, theirs[run]["plugins"]):
            yield f"{run}: {difference}"
    yield from iter_file_differences(log, oracle["files"])


def iter_run_differences(log: Log, run: str, plugins: Any) -> Iterator[str]:
    tags = log.tags(run)
    theirs = {tag: (plugin, it) for plugin, its in plugins.items() for tag, it in its.items()}
    for tag in theirs.keys() ^ tags.keys():
        yield f'only {"TensorBoard" if tag in theirs else "tracklight"} has "{tag}"'
    for tag in theirs.keys() & tags.keys():
        plugin, expected = theirs[tag]
        if tags[tag].plugin != plugin.replace("(none)", ""):
            yield f"{tag}: plugin {tags[tag].plugin}, not {plugin}"
        for difference in iter_tag_differences(log, run, tags[tag], expected):
            yield f"{tag}: {difference}"


def iter_tag_differences(log: Log, run: str, info: TagInfo, expected: Any) -> Iterator[str]:
    # TensorBoard uses the tag as the display name of converted values.
    if expected.get("display_name", "") not in (info.display_name, info.display_name or info.tag):
        yield f"display name {info.display_name!r}, not {expected['display_name']!r}"
    if expected.get("description", "") != info.description:
        yield f"description {info.description!r}, not {expected['description']!r}"
    values = METHODS.get(info.kind, Log.tensors)(log, run, info.tag)
    if len(values) != expected["n"]:
        # TensorBoard drops points overwritten by a restart; tracklight marks them.
        values = values.without_overwritten()
    if len(values) != expected["n"]:
        yield f"{len(values)} values, not {expected['n']}"
        return
    yield from iter_step_differences(values, expected)
    yield from iter_value_differences(values, expected)
    if "values" in expected:
        yield from iter_point_differences(log.scalar(run, info.tag), expected["values"])


def iter_step_differences(values: Values[Any], expected: Any) -> Iterator[str]:
    steps = values.step.astype("<i8").tobytes()
    if hashlib.sha256(steps).hexdigest() != expected["steps_sha256"]:
        yield f"other steps: {values.step.tolist()[:10]}"
    for name, at in (("first", 0), ("last", -1)):
        ours = (int(values.step[at]), float(values.wall_time[at]))
        theirs = (expected[name]["step"], float(expected[name]["wall_time"]))
        if not np.array_equal(ours, theirs, equal_nan=True):
            yield f"{name} at {ours}, not {theirs}"


def iter_point_differences(series: tracklight.Series, theirs: list[Any]) -> Iterator[str]:
    if len(series) != len(theirs):
        series = series.without_overwritten()
    if not len(series):
        yield "no points"
    elif not np.array_equal(series.value.astype(float), np.array(theirs, float), equal_nan=True):
        yield f"points {series.value.tolist()[:10]}, not {theirs[:10]}"


def iter_value_differences(values: Values[Any], expected: Any) -> Iterator[str]:
    """Read every value, and compare the first and last with TensorBoard."""
    for at in range(len(values)):
        end = {0: "first", len(values) - 1: "last"}.get(at)
        try:
            value = values[at]
        except (FormatError, CorruptRecordError):
            if not (end and "error" in expected[end]):
                yield "cannot be read"
            continue
        if end:
            yield from (f"{end} {words}" for words in iter_detail_differences(value, expected[end]))


def iter_detail_differences(value: Any, expected: Any) -> Iterator[str]:
    for name, ours in describe(value).items():
        if name in expected and not is_same(ours, expected[name]):
            yield f"{name} {ours}, not {expected[name]}"


def describe(value: Any) -> dict[str, Any]:
    """Return the properties of a value under the names of the oracle."""
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return {}
        flat = value.ravel().tolist()
        sizes = [len(text.encode() if isinstance(text, str) else text) for text in flat]
        texts = {"text": flat} if all(isinstance(text, str) for text in flat) else {}
        return {"total_bytes": sum(sizes), **texts}
    names = type(value).__name__
    if names == "Images":
        return {"samples": len(value.encoded), "w": value.width, "h": value.height}
    if names == "Audio":
        return {"samples": len(value.clips)}
    if not len(value.counts):
        return {"count": 0.0}
    return {
        "left": value.edges_left[0],
        "right": value.edges_right[-1],
        "count": value.counts.sum(),
    }


def is_same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, list):
        # The oracle truncates long texts and long lists.
        return [text[: len(other)] for text, other in zip(ours, theirs, strict=False)] == theirs
    try:
        pair = (float(ours), float(theirs))
    except ValueError:
        return ours == 0  # the size is not a number
    # TensorBoard converts old histograms to float32.
    return math.isclose(*pair, rel_tol=1e-6) or all(map(math.isnan, pair))


def iter_file_differences(log: Log, files: Any) -> Iterator[str]:
    """Compare the number of records and the corruption of each file with the oracle's scan."""
    below = {
        os.path.relpath(file.path, log.roots[0].path): file
        for run in log.runs
        for file in log.files(run)
    }
    for expected in files:
        if not expected.get("scan"):
            continue
        file = below.get(expected["path"])
        if file is None:
            yield f"no file {expected['path']}"
        elif (
            file.bytes != expected["bytes"]
            or file.records + file.damaged < expected["scan"]["records"]
        ):
            yield f"{expected['path']}: {file.records} of {expected['scan']['records']} records"
        elif bool(file.damaged) != is_damaged(expected["scan"]):
            yield f"{expected['path']}: {file.damaged} damaged"


def is_damaged(scan: Any) -> bool:
    # A truncated record may still be in the process of being written.
    return scan["status"] == "bad_length_crc" or bool(scan.get("bad_data_crc"))
