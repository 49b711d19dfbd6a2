"""Merging of stack samples into spans."""

from __future__ import annotations

import json
import sys

from tracklight.profiler import Span, SpanBuilder, format_stack


def test_consecutive_samples_of_a_function_are_one_span() -> None:
    builder = SpanBuilder()
    for now, names in enumerate([["main", "load"], ["main", "train", "step"], ["main", "train"]]):
        builder.add_sample(names, now)
    builder.close_below(0, 9)
    assert sorted(builder.spans) == [
        Span("load", 0, 1),
        Span("main", 0, 9),
        Span("step", 1, 2),
        Span("train", 1, 9),
    ]


def test_closed_calls_are_not_merged_with_later_ones() -> None:
    builder = SpanBuilder()
    builder.add_sample(["main", "load"], 1)
    builder.close_below(1, 5)
    builder.add_sample(["main", "load"], 6)
    builder.close_below(0, 8)
    assert builder.spans == [Span("load", 1, 5), Span("load", 6, 8), Span("main", 1, 8)]


def test_user_files_are_shown_with_lines() -> None:
    names: list[str] = []

    class Probe(json.JSONEncoder):
        def default(self, o: object) -> str:
            names.extend(format_stack(sys._getframe()))
            return ""

    json.dumps(object(), cls=Probe)
    function = "test_user_files_are_shown_with_lines"
    outer = next(index for index, name in enumerate(names) if name.startswith(function))
    mine = names[outer:]
    assert mine[0] == f"{function} (test_spans.py:{_line_of(function)})"
    assert mine[1].endswith(": json.dumps(object(), cls=Probe)")
    assert "dumps (__init__.py:" in mine[2]  # a library: without lines
    assert mine[-2].partition(" ")[0].endswith("default")
    assert mine[-1].endswith(": names.extend(format_stack(sys._getframe()))")


def _line_of(function: str) -> int:
    code = globals()[function].__code__
    return int(code.co_firstlineno)


def test_deep_stack_is_truncated() -> None:
    def dive(depth: int) -> int:
        return dive(depth - 1) if depth else len(format_stack(sys._getframe()))

    assert dive(400) == 400  # 200 calls, each with its line
