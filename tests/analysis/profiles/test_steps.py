"""Detection of steps in small traces."""

from __future__ import annotations

from tests.analysis.profiles.trace_builder import EventSpec, make_trace
from tracklight.analysis.profiles.steps import detect_steps


def test_single_event_is_one_step() -> None:
    steps = detect_steps(make_trace(EventSpec(0, "once", 0, 7)))
    assert steps.rule.text.startswith("none") and steps.spans.tolist() == [[0, 7_000_000]]


def test_repeating_events_are_steps() -> None:
    repeated = [EventSpec(0, "epoch", 100 * each, 100 * each + 80) for each in range(4)]
    steps = detect_steps(make_trace(*repeated, EventSpec(0, "once", 401, 404)))
    assert steps.rule.text == "repeating events of the busiest thread"
    assert len(steps.names) == 4
