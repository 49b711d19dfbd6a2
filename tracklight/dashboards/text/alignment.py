"""Which items two sequences have in common, in order: the heart of a comparison.

Items that each side has once are the surest anchors, and what lies between them is looked at by
itself; where there are none the shortest way from one stretch to the other is searched for, up to
a length.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

from tracklight.media.markdown.deadline import Deadline

#: Beyond so many steps of removing and adding, two stretches have nothing in common.
_MOST_EDITS = 400


class Stretch(NamedTuple):
    """A piece of each sequence."""

    before: int
    before_end: int
    after: int
    after_end: int


def align(
    before: Sequence[Hashable], after: Sequence[Hashable], deadline: Deadline
) -> list[tuple[int, int]]:
    """Pairs of places whose items are the same, rising on both sides.

    When the time is up, what was not yet looked at has nothing in common.
    """
    pairs: list[tuple[int, int]] = []
    open_stretches = [Stretch(0, len(before), 0, len(after))]
    while open_stretches and not deadline.is_over:
        stretch = _match_ends(before, after, open_stretches.pop(), pairs)
        if stretch.before == stretch.before_end or stretch.after == stretch.after_end:
            continue
        anchors = _find_anchors(before, after, stretch)
        if anchors:
            open_stretches += _split(stretch, anchors)
        else:
            pairs += _find_shortest(before, after, stretch)
    return sorted(pairs)


def _match_ends(
    before: Sequence[Hashable],
    after: Sequence[Hashable],
    stretch: Stretch,
    pairs: list[tuple[int, int]],
) -> Stretch:
    """Take away what a stretch begins and ends with on both sides."""
    i, i_end, j, j_end = stretch
    while i < i_end and j < j_end and before[i] == after[j]:
        pairs.append((i, j))
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and before[i_end - 1] == after[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
        pairs.append((i_end, j_end))
    return Stretch(i, i_end, j, j_end)


def _find_anchors(
    before: Sequence[Hashable], after: Sequence[Hashable], stretch: Stretch
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
    return _find_longest_rise(common)


def _find_longest_rise(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
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


def _split(stretch: Stretch, anchors: list[tuple[int, int]]) -> Iterator[Stretch]:
    """The stretches between anchors, each anchor at the start of one."""
    starts = [(stretch.before, stretch.after), *anchors]
    ends = [*anchors, (stretch.before_end, stretch.after_end)]
    for (i, j), (i_end, j_end) in zip(starts, ends, strict=True):
        yield Stretch(i, i_end, j, j_end)


def _find_shortest(
    before: Sequence[Hashable], after: Sequence[Hashable], stretch: Stretch
) -> list[tuple[int, int]]:
    """Myers' greedy way: the furthest place that can be reached with 0, 1, 2 … edits."""
    a, b = before[stretch.before : stretch.before_end], after[stretch.after : stretch.after_end]
    furthest = {1: 0}
    trail = []
    for edits in range(min(len(a) + len(b), _MOST_EDITS) + 1):
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
