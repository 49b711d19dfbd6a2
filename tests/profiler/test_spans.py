from __future__ import annotations

import json
import sys

from tracklight.profiler.stack_sampling import Span, SpanBuilder, format_stack


def test_what_is_met_again_goes_on() -> None:
    fold = SpanBuilder()
    for now, names in enumerate([["main", "load"], ["main", "train", "step"], ["main", "train"]]):
        fold.add(names, now)
    fold.close_below(0, 9)
    assert sorted(fold.spans) == [
        Span("load", 0, 1),
        Span("main", 0, 9),
        Span("step", 1, 2),
        Span("train", 1, 9),
    ]


def test_a_cut_makes_two_calls_of_what_looks_like_one() -> None:
    fold = SpanBuilder()
    fold.add(["main", "load"], 1)
    fold.close_below(1, 5)
    fold.add(["main", "load"], 6)
    fold.close_below(0, 8)
    assert fold.spans == [Span("load", 1, 5), Span("load", 6, 8), Span("main", 1, 8)]


def test_own_files_are_told_down_to_the_line() -> None:
    names: list[str] = []

    class Probe(json.JSONEncoder):
        def default(self, o: object) -> str:
            names.extend(format_stack(sys._getframe()))
            return ""

    json.dumps(object(), cls=Probe)
    place = "test_own_files_are_told_down_to_the_line"
    outer = next(at for at, name in enumerate(names) if name.startswith(place))
    mine = names[outer:]
    assert mine[0] == f"{place} (test_stacks.py:{_line_of(place)})"
    assert mine[1].endswith(": json.dumps(object(), cls=Probe)")
    assert "dumps (__init__.py:" in mine[2]  # of a library, so its lines are no matter
    assert mine[-2].partition(" ")[0].endswith("default")
    assert mine[-1].endswith(": names.extend(name_stack(sys._getframe()))")


def _line_of(function: str) -> int:
    code = globals()[function].__code__
    return int(code.co_firstlineno)


def test_a_stack_without_an_end_is_cut_short() -> None:
    def dive(depth: int) -> int:
        return dive(depth - 1) if depth else len(format_stack(sys._getframe()))

    assert dive(400) == 400  # two hundred calls, each with its line
