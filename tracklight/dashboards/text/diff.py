"""Which items two sequences have in common, in order: the heart of a comparison.

Items that each side has once are the surest anchors, and what lies between them is looked at by
itself; where there are none the shortest way from one stretch to the other is searched for, up to
a length.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from tracklight.analysis.media.time_limits import Deadline
from tracklight.dashboards.text.schemas import TextDiffLine, TextDiffResponse

#: Beyond so many steps of removing and adding, two stretches have nothing in common.
_MAX_EDITS = 400


class SequenceRange(NamedTuple):
    """A piece of each sequence."""

    before: int
    before_end: int
    after: int
    after_end: int


def align_sequences(
    before: Sequence[Hashable], after: Sequence[Hashable], deadline: Deadline
) -> list[tuple[int, int]]:
    """Pairs of places whose items are the same, rising on both sides.

    When the time is up, what was not yet looked at has nothing in common.
    """
    pairs: list[tuple[int, int]] = []
    open_stretches = [SequenceRange(0, len(before), 0, len(after))]
    while open_stretches and not deadline.is_expired:
        stretch = _match_ends(before, after, open_stretches.pop(), pairs)
        if stretch.before == stretch.before_end or stretch.after == stretch.after_end:
            continue
        anchors = _compute_anchors(before, after, stretch)
        if anchors:
            open_stretches += _split_at_anchors(stretch, anchors)
        else:
            pairs += _compute_shortest_edit(before, after, stretch)
    return sorted(pairs)


def _match_ends(
    before: Sequence[Hashable],
    after: Sequence[Hashable],
    stretch: SequenceRange,
    pairs: list[tuple[int, int]],
) -> SequenceRange:
    """Take away what a stretch begins and ends with on both sides."""
    i, i_end, j, j_end = stretch
    while i < i_end and j < j_end and before[i] == after[j]:
        pairs.append((i, j))
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and before[i_end - 1] == after[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
        pairs.append((i_end, j_end))
    return SequenceRange(i, i_end, j, j_end)


def _compute_anchors(
    before: Sequence[Hashable], after: Sequence[Hashable], stretch: SequenceRange
) -> list[tuple[int, int]]:
    """The longest rising row of items that stand once on either side."""
    i, i_end, j, j_end = stretch
    once_after = Counter(after[j:j_end])
    once_before = Counter(before[i:i_end])
    place = {item: at for at, item in enumerate(after[j:j_end], j) if once_after[item] == 1}
    common = [
        (at, place[item])
        for at, item in enumerate(before[i:i_end], i)
        if once_before[item] == 1 and item in place
    ]
    return _compute_longest_increasing(common)


def _compute_longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Of pairs in the order of their first number, as many as rise in the second as well."""
    lasts: list[int] = []  # the least second number that a row of each length ends with
    ends: list[int] = []  # which pair that is
    previous: list[int] = []
    for number, (_, second) in enumerate(pairs):
        length = bisect_left(lasts, second)
        previous.append(ends[length - 1] if length else -1)
        lasts[length : length + 1] = [second]
        ends[length : length + 1] = [number]
    row = []
    at = ends[-1] if ends else -1
    while at >= 0:
        row.append(pairs[at])
        at = previous[at]
    return row[::-1]


def _split_at_anchors(
    stretch: SequenceRange, anchors: list[tuple[int, int]]
) -> Iterator[SequenceRange]:
    """The stretches between anchors, each anchor at the start of one."""
    starts = [(stretch.before, stretch.after), *anchors]
    ends = [*anchors, (stretch.before_end, stretch.after_end)]
    for (i, j), (i_end, j_end) in zip(starts, ends, strict=True):
        yield SequenceRange(i, i_end, j, j_end)


def _compute_shortest_edit(
    before: Sequence[Hashable], after: Sequence[Hashable], stretch: SequenceRange
) -> list[tuple[int, int]]:
    """Myers' greedy way: the furthest place that can be reached with 0, 1, 2 … edits."""
    a, b = before[stretch.before : stretch.before_end], after[stretch.after : stretch.after_end]
    furthest = {1: 0}
    trail = []
    for edits in range(min(len(a) + len(b), _MAX_EDITS) + 1):
        trail.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (
                diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1]
            )
            x = furthest[diagonal + 1] if down else furthest[diagonal - 1] + 1
            y = x - diagonal
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            furthest[diagonal] = x
            if x >= len(a) and y >= len(b):
                walked = _walk_back(trail, len(a), len(b))
                return [(stretch.before + i, stretch.after + j) for i, j in walked]
    return []


def _walk_back(trail: list[dict[int, int]], x: int, y: int) -> Iterator[tuple[int, int]]:
    """The items passed without an edit, from the end."""
    for edits in range(len(trail) - 1, -1, -1):
        furthest, diagonal = trail[edits], x - y
        down = diagonal == -edits or (
            diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1]
        )
        origin = diagonal + 1 if down else diagonal - 1
        x_before = furthest[origin]
        y_before = x_before - origin
        while x > x_before and y > y_before and x > 0 and y > 0:
            x, y = x - 1, y - 1
            yield x, y
        x, y = x_before, y_before


# Which words differ in lines that were put in place of others.

_WORD = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")

_MAX_WORDS = 3000

#: With less in common than this share, marks would be all over and say nothing.
_MIN_COMMON_SHARE = 0.25

#: The words of a line: those with odd places differ.
LineParts = list[str]


def diff_words(
    removed: Sequence[str], added: Sequence[str], deadline: Deadline
) -> tuple[list[LineParts], list[LineParts]]:
    """The lines of both sides, split where words begin and end to differ."""
    before, after = _WORD.findall("\n".join(removed)), _WORD.findall("\n".join(added))
    is_too_long = deadline.is_expired or max(len(before), len(after)) > _MAX_WORDS
    if not before or not after or is_too_long:
        return _keep_whole(removed), _keep_whole(added)
    pairs = align_sequences(before, after, deadline)
    common = sum(len(before[i]) for i, _ in pairs if not before[i].isspace())
    if common < _MIN_COMMON_SHARE * min(_count_letters(before), _count_letters(after)):
        return _keep_whole(removed), _keep_whole(added)
    return (
        _split_lines(before, {i for i, _ in pairs}),
        _split_lines(after, {j for _, j in pairs}),
    )


def _keep_whole(lines: Iterable[str]) -> list[LineParts]:
    return [[line] for line in lines]


def _count_letters(words: Iterable[str]) -> int:
    return sum(len(word) for word in words if not word.isspace())


def _split_lines(words: Sequence[str], common: set[int]) -> list[LineParts]:
    lines: list[LineParts] = [[""]]
    for at, word in enumerate(words):
        if word == "\n":
            lines.append([""])
            continue
        is_marked = not _is_unchanged(words, at, common)
        parts = lines[-1]
        if (len(parts) % 2 == 0) != is_marked:
            parts.append("")
        parts[-1] += word
    return lines


def _is_unchanged(words: Sequence[str], at: int, common: set[int]) -> bool:
    """A space between two words that differ is part of what differs."""
    if at not in common:
        return False
    between = 0 < at < len(words) - 1 and at - 1 not in common and at + 1 not in common
    return not (words[at].isspace() and between)


# Compares two texts line by line, and lines that were changed word by word.

_MAX_COMPARED_LINES = 20_000

_MAX_SHOWN_LINES = 4000

_MAX_LINE_CHARS = 5000

_MAX_DIFF_S = 2.0


def diff_texts(before: list[str], after: list[str], context: int | None) -> TextDiffResponse:
    """The lines of both texts in one row, unchanged ones only within ``context`` if that is set."""
    notes = []
    if max(len(before), len(after)) > _MAX_COMPARED_LINES:
        notes.append(f"Only the first {_MAX_COMPARED_LINES:,} lines are compared.")
    if any(len(line) > _MAX_LINE_CHARS for text in (before, after) for line in text):
        notes.append(f"Lines are cut after {_MAX_LINE_CHARS:,} characters.")
    deadline = Deadline(_MAX_DIFF_S, time.thread_time)
    lines = list(_iter_lines(_truncate(before), _truncate(after), deadline))
    if deadline.is_expired:
        notes.append("The texts differ too much to find all that they have in common.")
    added, removed = (sum(line.kind == kind for line in lines) for kind in ("added", "removed"))
    shown = lines if context is None else list(_fold(lines, context))
    if len(shown) > _MAX_SHOWN_LINES:
        notes.append(f"The first {_MAX_SHOWN_LINES:,} of {len(shown):,} lines are shown.")
    return TextDiffResponse(shown[:_MAX_SHOWN_LINES], added, removed, " ".join(notes) or None)


def _truncate(text: list[str]) -> list[str]:
    return [line[:_MAX_LINE_CHARS] for line in text[:_MAX_COMPARED_LINES]]


def _iter_lines(
    before: Sequence[str], after: Sequence[str], deadline: Deadline
) -> Iterator[TextDiffLine]:
    i = j = 0
    for i_same, j_same in [*align_sequences(before, after, deadline), (len(before), len(after))]:
        marked = diff_words(before[i:i_same], after[j:j_same], deadline)
        yield from _number_lines(*marked, i + 1, j + 1)
        if i_same < len(before):
            yield TextDiffLine("same", i_same + 1, j_same + 1, [before[i_same]])
        i, j = i_same + 1, j_same + 1


def _number_lines(
    removed: list[LineParts], added: list[LineParts], before: int, after: int
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
