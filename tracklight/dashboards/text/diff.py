"""Compares two texts line by line, and lines that were changed word by word."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from tracklight.dashboards.text.alignment import align
from tracklight.dashboards.text.answers import TextDiffAnswer, TextDiffLine
from tracklight.dashboards.text.words import Parts, mark_words
from tracklight.media.markdown.deadline import Deadline

_MOST_COMPARED = 20_000
_MOST_SHOWN = 4000
_LONGEST_LINE = 5000
_MOST_SECONDS = 2.0


def compare(before: list[str], after: list[str], context: int | None) -> TextDiffAnswer:
    """The lines of both texts in one row, unchanged ones only within ``context`` if that is set."""
    notes = []
    if max(len(before), len(after)) > _MOST_COMPARED:
        notes.append(f"Only the first {_MOST_COMPARED:,} lines are compared.")
    if any(len(line) > _LONGEST_LINE for text in (before, after) for line in text):
        notes.append(f"Lines are cut after {_LONGEST_LINE:,} characters.")
    deadline = Deadline(_MOST_SECONDS, time.thread_time)
    lines = list(_iter_lines(_cut(before), _cut(after), deadline))
    if deadline.is_over:
        notes.append("The texts differ too much to find all that they have in common.")
    added, removed = (sum(line.kind == kind for line in lines) for kind in ("added", "removed"))
    shown = lines if context is None else list(_fold(lines, context))
    if len(shown) > _MOST_SHOWN:
        notes.append(f"The first {_MOST_SHOWN:,} of {len(shown):,} lines are shown.")
    return TextDiffAnswer(shown[:_MOST_SHOWN], added, removed, " ".join(notes) or None)


def _cut(text: list[str]) -> list[str]:
    return [line[:_LONGEST_LINE] for line in text[:_MOST_COMPARED]]


def _iter_lines(
    before: Sequence[str], after: Sequence[str], deadline: Deadline
) -> Iterator[TextDiffLine]:
    i = j = 0
    for i_same, j_same in [*align(before, after, deadline), (len(before), len(after))]:
        marked = mark_words(before[i:i_same], after[j:j_same], deadline)
        yield from _number(*marked, i + 1, j + 1)
        if i_same < len(before):
            yield TextDiffLine("same", i_same + 1, j_same + 1, [before[i_same]])
        i, j = i_same + 1, j_same + 1


def _number(
    removed: list[Parts], added: list[Parts], before: int, after: int
) -> Iterator[TextDiffLine]:
    for number, parts in enumerate(removed, before):
        yield TextDiffLine("removed", number, None, parts)
    for number, parts in enumerate(added, after):
        yield TextDiffLine("added", None, number, parts)


def _fold(lines: Sequence[TextDiffLine], context: int) -> Iterator[TextDiffLine]:
    """Long stretches that both have become one gap each."""
    changed = [at for at, line in enumerate(lines) if line.kind != "same"]
    at = 0
    for number, place in enumerate([*changed, None]):
        end = len(lines) if place is None else place
        first = at + context if number else at
        last = end - context if place is not None else end
        if last - first > 1:
            yield from lines[at:first]
            yield TextDiffLine("gap", None, None, [], last - first)
            yield from lines[last:end]
        else:
            yield from lines[at:end]
        if place is not None:
            yield lines[place]
            at = place + 1
