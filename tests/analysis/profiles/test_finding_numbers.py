"""Overlap, precision and the numbers of findings, recomputed from the raw events of each capture.

``TRACKLIGHT_CORPUS=directory`` adds the captures that are too large for the repository.
"""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.analysis.profiles.raw_findings import (
    list_expected_findings,
    measure_hidden_ms,
    measure_overlap,
    measure_precision_ms,
    measure_stages,
)
from tests.analysis.profiles.raw_steps import (
    CAPTURES,
    EIGHT_BITS,
    TENSORFLOW,
    TORCH,
    get_raw_steps,
    load,
    load_raw,
)
from tracklight.analysis.profiles.findings import Finding
from tracklight.analysis.profiles.trace import PS_PER_MS

MS_OF_UNIT = {"s": 1000.0, "ms": 1.0, "µs": 1e-3, "ns": 1e-6}
MAX_EVIDENCE = 20


@pytest.mark.parametrize("name", CAPTURES)
def test_overlapped_time(name: str) -> None:
    summary, expected = load(name).summary, measure_hidden_ms(name)
    for part in summary.parts:
        hidden_ms = expected.get(part.name, 0.0)
        assert part.hidden_ms == pytest.approx(hidden_ms, rel=1e-4, abs=5e-5), part.name


@pytest.mark.parametrize("name", CAPTURES)
def test_overlap_of_host_and_device(name: str) -> None:
    overlap = load(name).summary.overlap
    if overlap is None:
        assert not any(event.on_device for event in load_raw(name))
        return
    expected = measure_overlap(name)
    assert overlap.host_ms == pytest.approx(expected.host_ms, rel=1e-5, abs=2e-5)
    assert overlap.both_ms == pytest.approx(expected.both_ms, rel=1e-5, abs=2e-5)
    assert overlap.neither_ms == pytest.approx(expected.neither_ms, rel=1e-5, abs=2e-5)


@pytest.mark.parametrize("name", [*CAPTURES, EIGHT_BITS])
def test_precision(name: str) -> None:
    precision, expected = load(name).summary.precision, measure_precision_ms(name)
    assert precision.low_ms == pytest.approx(expected["low"], rel=1e-6, abs=1e-6)
    assert precision.byte_ms == pytest.approx(expected["byte"], rel=1e-6, abs=1e-6)
    assert precision.full_ms == pytest.approx(expected["full"], rel=1e-6, abs=1e-6)
    assert precision.unknown_ms == pytest.approx(expected["unknown"], rel=1e-6, abs=1e-6)
    known_ms = expected["low"] + expected["full"]
    if not known_ms:
        assert precision.low_share is None
    else:
        assert precision.low_share == pytest.approx(expected["low"] / known_ms, rel=1e-6)


def read_numbers(finding: Finding) -> tuple[float, float]:
    """Return the share and the milliseconds in the text of a finding."""
    match = re.search(r"(\d+)%.*?\(([\d.]+) (s|ms|µs|ns)", finding.summary.text)
    assert match, finding.summary.text
    return int(match[1]) / 100, float(match[2]) * MS_OF_UNIT[match[3]]


@pytest.mark.parametrize("name", CAPTURES)
def test_findings(name: str) -> None:
    found = {finding.name: finding for finding in load(name).summary.findings}
    expected, steps = list_expected_findings(name), get_raw_steps(name)
    assert found.keys() == expected.keys()
    for key, finding in found.items():
        raw = expected[key]
        assert finding.savings_ms == pytest.approx(raw.savings_ms, rel=1e-4, abs=2e-5), key
        assert finding.share == pytest.approx(raw.savings_ms / steps.step_ms, rel=1e-3), key
        share, ms = read_numbers(finding)
        assert share == pytest.approx(raw.share, abs=0.00501), key
        assert ms == pytest.approx(raw.measured_ms, rel=0.006), key
        assert finding.events == len(raw.rows), key
        check_evidence(name, finding, raw.rows)
        if raw.query_ps:
            # Several names may have taken equally long.
            longest = max(raw.query_ps.values())
            assert raw.query_ps[finding.query.strip('"')] == pytest.approx(longest, rel=1e-9), key
    savings = [finding.savings_ms for finding in load(name).summary.findings]
    assert savings == sorted(savings, reverse=True)


def check_evidence(name: str, finding: Finding, rows: list[tuple[int, int]]) -> None:
    """Check that the evidence is the longest events, and its span the step of the first."""
    steps = get_raw_steps(name)
    # Of Python code in gaps, the first row is the frame that ran.
    evidence = [row for row in finding.evidence if row.is_gap or finding.name != "other"]
    durations = sorted((end - start for start, end in rows), reverse=True)[:MAX_EVIDENCE]
    shown = durations[: len(evidence)]
    assert [row.duration_ps for row in evidence] == pytest.approx(shown, abs=2e4)
    assert len(evidence) >= min(len(durations), MAX_EVIDENCE - 1)
    # The times of a trace are relative to its start.
    base_ps = int(min(event.start_ps for event in load_raw(name)))
    base_ps -= round(load(name).events["start_ms"].min() * PS_PER_MS)
    starts = {start - base_ps for start, _ in rows}
    assert all(min(abs(row.start_ps - it) for it in starts) <= 2e4 for row in evidence)
    containing = [
        (start - base_ps, end - base_ps)
        for start, end in steps.spans
        if start - base_ps - 2e4 <= evidence[0].start_ps < end - base_ps + 2e4
    ]
    assert any(
        (finding.start_ps, finding.end_ps) == pytest.approx(span, abs=2e4) for span in containing
    )


@pytest.mark.parametrize("name", TENSORFLOW)
def test_stage_of_the_input(name: str) -> None:
    """The share of the slowest stage in the advice on input."""
    finding = next((it for it in load(name).summary.findings if it.name == "input"), None)
    times = measure_stages(name)
    if finding is None or not any(times.values()):
        return
    slowest = max(times, key=lambda key: times[key])
    stage = slowest.rpartition("::")[2].partition("[")[0]
    percent = f"{100 * times[slowest] / sum(times.values()):.0f}"
    assert finding.advice[0].text == f"{percent}% of that is the stage {stage}."


@pytest.mark.parametrize("name", CAPTURES)
def test_step_markers(name: str) -> None:
    """Names that a user can choose as markers, and how often they occur."""
    counts = Counter(
        event.name for event in load_raw(name) if not event.on_device and event.category != "cpu_op"
    )
    for marker in load(name).summary.markers:
        assert marker.count == counts[marker.name] >= 3


@pytest.mark.parametrize("name", CAPTURES)
def test_environment(name: str) -> None:
    """The numbers of threads and streams; names and versions are those of the file."""
    facts = {fact.name.text: fact.value.text for fact in load(name).summary.environment}
    events = load_raw(name)
    streams = {(event.process, event.thread) for event in events if event.on_device}
    threads = {(event.process, event.thread) for event in events} - streams
    # XSpaces also list threads and streams on which nothing ran.
    if name in TORCH:
        assert facts["Host threads"] == f"{len(threads)}"
        assert facts.get("Device streams", "0") == f"{len(streams)}"
    else:
        assert int(facts["Host threads"]) >= len(threads)
        assert int(facts.get("Device streams", "0")) >= len(streams)
