"""Real logs read as TensorBoard's own reader says, or better in ways that are written down here.

A clone has the event files of every case. ``TRACKLIGHT_CORPUS=folder`` reads a whole corpus
instead: ``logs/CASE`` and ``oracle/CASE.json``.
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

#: Where tracklight knows more than TensorBoard, or other things; anything else is a fault.
EXPECTED = {
    "legacy_v1": {
        # The histograms of 2015 have no other reader; they are listed, and read as bytes.
        'protos: only tracklight has "obsolete"',
    },
    "nasty": {
        # TensorBoard stops at the first damaged record. tracklight passes over it and goes on.
        "crc_data_flip_value: loss: 9 values, not 4",
        "crc_data_only: loss: 9 values, not 4",
        "crc_data_unparsable: loss: 9 values, not 4",
        "crc_length: loss: 9 values, not 4",
        # A value without anything in it is dropped by TensorBoard unless a plugin is named.
        'values_odd: only tracklight has "no_value"',
        # TensorBoard makes a number of a string, and of any array of one element.
        "dtypes: dtype/string: no points",
        "dtypes: enc/shape_1_1: no points",
        # Bytes that are no UTF-8 stay visible as \\xff, which is longer than what stands there.
        "text: t/invalid_utf8: last text ['ok \\\\xff\\\\xfe\\\\x80 bad'], not ['ok ��� bad']",
        "text: t/invalid_utf8: last total_bytes 19, not 10",
        # Its least value is greater than its greatest: the buckets' limits are better edges.
        "histograms: h/v1_min_gt_max: last left 0.5, not 5.0",
        "histograms: h/v1_min_gt_max: last right 1.0, not -5.0",
        # The logged size is not a number; tracklight reads it from the image file instead.
        "images: img/dims_not_numbers: last h 6, not ",
        "images: img/dims_not_numbers: last w 9, not wide",
        # TensorBoard finds out only when somebody looks at it.
        "histograms: h/2cols: cannot be read",
        # A file that stands there so that a profile is found; nobody reads it.
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
def test_reads_as_the_oracle_says(case: str, tmp_path: Path) -> None:
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
        plugin, told = theirs[tag]
        if tags[tag].plugin != plugin.replace("(none)", ""):
            yield f"{tag}: plugin {tags[tag].plugin}, not {plugin}"
        for difference in iter_tag_differences(log, run, tags[tag], told):
            yield f"{tag}: {difference}"


def iter_tag_differences(log: Log, run: str, info: TagInfo, told: Any) -> Iterator[str]:
    # TensorBoard gives converted values their tag for a display name.
    if told.get("display_name", "") not in (info.display_name, info.display_name or info.tag):
        yield f"display name {info.display_name!r}, not {told['display_name']!r}"
    if told.get("description", "") != info.description:
        yield f"description {info.description!r}, not {told['description']!r}"
    values = METHODS.get(info.kind, Log.tensors)(log, run, info.tag)
    if len(values) != told["n"]:
        # What a restart overwrote is gone in TensorBoard, and marked in tracklight.
        values = values.current()
    if len(values) != told["n"]:
        yield f"{len(values)} values, not {told['n']}"
        return
    yield from iter_step_differences(values, told)
    yield from iter_value_differences(values, told)
    if "values" in told:
        yield from iter_point_differences(log.scalar(run, info.tag), told["values"])


def iter_step_differences(values: Values[Any], told: Any) -> Iterator[str]:
    steps = values.step.astype("<i8").tobytes()
    if hashlib.sha256(steps).hexdigest() != told["steps_sha256"]:
        yield f"other steps: {values.step.tolist()[:10]}"
    for name, at in (("first", 0), ("last", -1)):
        ours = (int(values.step[at]), float(values.wall_time[at]))
        theirs = (told[name]["step"], float(told[name]["wall_time"]))
        if not np.array_equal(ours, theirs, equal_nan=True):
            yield f"{name} at {ours}, not {theirs}"


def iter_point_differences(series: tracklight.Series, theirs: list[Any]) -> Iterator[str]:
    if len(series) != len(theirs):
        series = series.without_overwritten()
    if not len(series):
        yield "no points"
    elif not np.array_equal(series.value.astype(float), np.array(theirs, float), equal_nan=True):
        yield f"points {series.value.tolist()[:10]}, not {theirs[:10]}"


def iter_value_differences(values: Values[Any], told: Any) -> Iterator[str]:
    """Every value must be readable; the ends are compared with what the oracle tells of them."""
    for at in range(len(values)):
        end = {0: "first", len(values) - 1: "last"}.get(at)
        try:
            value = values[at]
        except (FormatError, CorruptRecordError):
            if not (end and "error" in told[end]):
                yield "cannot be read"
            continue
        if end:
            yield from (f"{end} {words}" for words in iter_detail_differences(value, told[end]))


def iter_detail_differences(value: Any, told: Any) -> Iterator[str]:
    for name, ours in describe(value).items():
        if name in told and not is_same(ours, told[name]):
            yield f"{name} {ours}, not {told[name]}"


def describe(value: Any) -> dict[str, Any]:
    """What the oracle may tell of a value, under the oracle's names."""
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
        # The oracle cuts long texts short, and long lists of them.
        return [text[: len(told)] for text, told in zip(ours, theirs, strict=False)] == theirs
    try:
        pair = (float(ours), float(theirs))
    except ValueError:
        return ours == 0  # a size that is no number
    # TensorBoard converts old histograms to float32.
    return math.isclose(*pair, rel_tol=1e-6) or all(map(math.isnan, pair))


def iter_file_differences(log: Log, files: Any) -> Iterator[str]:
    """A file that the oracle's scan read to its end has as many records for us, and no damage."""
    below = {
        os.path.relpath(file.path, log.roots[0].path): file
        for run in log.runs
        for file in log.files(run)
    }
    for told in files:
        if not told.get("scan"):
            continue
        file = below.get(told["path"])
        if file is None:
            yield f"no file {told['path']}"
        elif file.bytes != told["bytes"] or file.records + file.damaged < told["scan"]["records"]:
            yield f"{told['path']}: {file.records} of {told['scan']['records']} records"
        elif bool(file.damaged) != is_damaged(told["scan"]):
            yield f"{told['path']}: {file.damaged} damaged"


def is_damaged(scan: Any) -> bool:
    # A record that is cut off is still being written, for all that anybody knows.
    return scan["status"] == "bad_length_crc" or bool(scan.get("bad_data_crc"))
