"""Compare two texts line by line, and changed lines word by word.

Lines are aligned by patience diff: items that occur once on either side are the most reliable
anchors, and the ranges between them are aligned separately. In ranges without such items, the
shortest edit is computed with Myers' algorithm, up to a limit.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from tracklight.analysis.media.time_limits import Deadline
from tracklight.analysis.source import Sentence
from tracklight.errors import Message

_MAX_COMPARED_LINES = 20_000
_MAX_SHOWN_LINES = 4000
_MAX_LINE_CHARS = 5000
_MAX_DIFF_S = 2.0
#: Ranges that need more edits than this are treated as having nothing in common.
_MAX_EDITS = 400
_MAX_WORDS = 3000
#: With less in common than this, marking single words would only be confusing.
_MIN_COMMON_SHARE = 0.25

_WORD = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")

#: The parts of a line; those at odd indexes differ.
LineParts = list[str]


class TextDiffLine(msgspec.Struct):
    """A line of one or both texts; line numbers count from 1.

    In ``parts`` the words at odd indexes differ. A ``gap`` represents ``lines`` lines that both
    texts have.
    """

    kind: Literal["same", "removed", "added", "gap"]
    before: int | None
    after: int | None
    parts: list[str]
    lines: int = 1


class TextDiffResponse(msgspec.Struct):
    """The lines of both texts, and how many were added and removed."""

    lines: list[TextDiffLine]
    added: int
    removed: int
    notes: list[Sentence]
    """What was left out, if the texts are too long."""


def diff_texts(before: list[str], after: list[str], context: int | None) -> TextDiffResponse:
    """Compare the lines of two texts.

    Args:
        before: The lines of the old text.
        after: The lines of the new text.
        context: How many unchanged lines to return around changes; None returns all.
    """
    notes: list[Message] = []
    if max(len(before), len(after)) > _MAX_COMPARED_LINES:
        notes.append(
            Message.format(
                "text.diff_lines_limit",
                "Only the first {limit:,} lines are compared.",
                limit=_MAX_COMPARED_LINES,
            )
        )
    if any(len(line) > _MAX_LINE_CHARS for text in (before, after) for line in text):
        notes.append(
            Message.format(
                "text.diff_line_length",
                "Lines are truncated after {limit:,} characters.",
                limit=_MAX_LINE_CHARS,
            )
        )
    deadline = Deadline(_MAX_DIFF_S, time.thread_time)
    lines = list(_iter_lines(_truncate(before), _truncate(after), deadline))
    if deadline.is_expired:
        notes.append(
            Message("text.diff_time_limit", "The texts differ too much to find all common lines.")
        )
    added, removed = (sum(line.kind == kind for line in lines) for kind in ("added", "removed"))
    shown = lines if context is None else list(_fold(lines, context))
    if len(shown) > _MAX_SHOWN_LINES:
        notes.append(
            Message.format(
                "text.diff_shown_limit",
                "The first {limit:,} of {total:,} lines are shown.",
                limit=_MAX_SHOWN_LINES,
                total=len(shown),
            )
        )
    return TextDiffResponse(
        shown[:_MAX_SHOWN_LINES], added, removed, [Sentence.make(note) for note in notes]
    )


def _truncate(text: list[str]) -> list[str]:
    return [line[:_MAX_LINE_CHARS] for line in text[:_MAX_COMPARED_LINES]]


def _iter_lines(
    before: Sequence[str], after: Sequence[str], deadline: Deadline
) -> Iterator[TextDiffLine]:
    i = j = 0
    for i_same, j_same in [*align_sequences(before, after, deadline), (len(before), len(after))]:
        removed, added = diff_words(before[i:i_same], after[j:j_same], deadline)
        yield from _number_lines(removed, added, i + 1, j + 1)
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
    """Replace long ranges of unchanged lines by gaps."""
    changed = [index for index, line in enumerate(lines) if line.kind != "same"]
    start = 0
    for number, change in enumerate([*changed, None]):
        end = len(lines) if change is None else change
        gap_start = start + context if number else start
        gap_end = end - context if change is not None else end
        if gap_end - gap_start > 1:
            yield from lines[start:gap_start]
            yield TextDiffLine("gap", None, None, [], gap_end - gap_start)
            yield from lines[gap_end:end]
        else:
            yield from lines[start:end]
        if change is not None:
            yield lines[change]
            start = change + 1


# ---- words


def diff_words(
    removed: Sequence[str], added: Sequence[str], deadline: Deadline
) -> tuple[list[LineParts], list[LineParts]]:
    """Split removed lines and the lines that replaced them where words begin to differ."""
    before, after = _WORD.findall("\n".join(removed)), _WORD.findall("\n".join(added))
    is_too_long = deadline.is_expired or max(len(before), len(after)) > _MAX_WORDS
    if not before or not after or is_too_long:
        return _keep_whole(removed), _keep_whole(added)
    pairs = align_sequences(before, after, deadline)
    common = sum(len(before[i]) for i, _ in pairs if not before[i].isspace())
    if common < _MIN_COMMON_SHARE * min(_count_letters(before), _count_letters(after)):
        return _keep_whole(removed), _keep_whole(added)
    return _split_lines(before, {i for i, _ in pairs}), _split_lines(after, {j for _, j in pairs})


def _keep_whole(lines: Iterable[str]) -> list[LineParts]:
    return [[line] for line in lines]


def _count_letters(words: Iterable[str]) -> int:
    return sum(len(word) for word in words if not word.isspace())


def _split_lines(words: Sequence[str], common: set[int]) -> list[LineParts]:
    lines: list[LineParts] = [[""]]
    for index, word in enumerate(words):
        if word == "\n":
            lines.append([""])
            continue
        parts = lines[-1]
        is_in_changed_part = len(parts) % 2 == 0
        if is_in_changed_part == _is_unchanged(words, index, common):
            parts.append("")
        parts[-1] += word
    return lines


def _is_unchanged(words: Sequence[str], index: int, common: set[int]) -> bool:
    """Return whether a word is unchanged; a space between two changed words counts as changed."""
    if index not in common:
        return False
    is_between_changes = (
        0 < index < len(words) - 1 and index - 1 not in common and index + 1 not in common
    )
    return not (words[index].isspace() and is_between_changes)


# ---- alignment


class SequenceRange(NamedTuple):
    """A range of each of two sequences."""

    before: int
    before_end: int
    after: int
    after_end: int


def align_sequences(
    before: Sequence[Hashable], after: Sequence[Hashable], deadline: Deadline
) -> list[tuple[int, int]]:
    """Return pairs of indexes of equal items, increasing on both sides.

    When the deadline is over, ranges that are not aligned yet have nothing in common.
    """
    pairs: list[tuple[int, int]] = []
    remaining = [SequenceRange(0, len(before), 0, len(after))]
    while remaining and not deadline.is_expired:
        part = _match_ends(before, after, remaining.pop(), pairs)
        if part.before == part.before_end or part.after == part.after_end:
            continue
        anchors = _compute_anchors(before, after, part)
        if anchors:
            remaining += _split_at_anchors(part, anchors)
        else:
            pairs += _compute_shortest_edit(before, after, part)
    return sorted(pairs)


def _match_ends(
    before: Sequence[Hashable],
    after: Sequence[Hashable],
    part: SequenceRange,
    pairs: list[tuple[int, int]],
) -> SequenceRange:
    """Add the common prefix and suffix of a range to ``pairs``; return the rest of the range."""
    i, i_end, j, j_end = part
    while i < i_end and j < j_end and before[i] == after[j]:
        pairs.append((i, j))
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and before[i_end - 1] == after[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
        pairs.append((i_end, j_end))
    return SequenceRange(i, i_end, j, j_end)


def _compute_anchors(
    before: Sequence[Hashable], after: Sequence[Hashable], part: SequenceRange
) -> list[tuple[int, int]]:
    """Return the longest increasing sequence of items that occur once on either side."""
    i, i_end, j, j_end = part
    counts_after = Counter(after[j:j_end])
    counts_before = Counter(before[i:i_end])
    index_after = {item: n for n, item in enumerate(after[j:j_end], j) if counts_after[item] == 1}
    unique_pairs = [
        (n, index_after[item])
        for n, item in enumerate(before[i:i_end], i)
        if counts_before[item] == 1 and item in index_after
    ]
    return _compute_longest_increasing(unique_pairs)


def _compute_longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest subsequence whose second numbers increase; the first ones do already."""
    lowest_ends: list[int] = []  # for each length, the lowest second number that ends a sequence
    end_numbers: list[int] = []  # the number of the pair with that end
    previous: list[int] = []
    for number, (_, second) in enumerate(pairs):
        length = bisect_left(lowest_ends, second)
        previous.append(end_numbers[length - 1] if length else -1)
        lowest_ends[length : length + 1] = [second]
        end_numbers[length : length + 1] = [number]
    sequence = []
    number = end_numbers[-1] if end_numbers else -1
    while number >= 0:
        sequence.append(pairs[number])
        number = previous[number]
    return sequence[::-1]


def _split_at_anchors(
    part: SequenceRange, anchors: list[tuple[int, int]]
) -> Iterator[SequenceRange]:
    """Yield the ranges between anchors; each anchor is the start of one."""
    starts = [(part.before, part.after), *anchors]
    ends = [*anchors, (part.before_end, part.after_end)]
    for (i, j), (i_end, j_end) in zip(starts, ends, strict=True):
        yield SequenceRange(i, i_end, j, j_end)


def _compute_shortest_edit(
    before: Sequence[Hashable], after: Sequence[Hashable], part: SequenceRange
) -> list[tuple[int, int]]:
    """Return the common items of the shortest edit (Myers 1986, greedy); none if it is too long."""
    a, b = before[part.before : part.before_end], after[part.after : part.after_end]
    furthest = {1: 0}
    trace = []
    for edits in range(min(len(a) + len(b), _MAX_EDITS) + 1):
        trace.append(dict(furthest))
        for diagonal in range(-edits, edits + 1, 2):
            is_down = diagonal == -edits or (
                diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1]
            )
            x = furthest[diagonal + 1] if is_down else furthest[diagonal - 1] + 1
            y = x - diagonal
            while x < len(a) and y < len(b) and a[x] == b[y]:
                x, y = x + 1, y + 1
            furthest[diagonal] = x
            if x >= len(a) and y >= len(b):
                common = _backtrack(trace, len(a), len(b))
                return [(part.before + i, part.after + j) for i, j in common]
    return []


def _backtrack(trace: list[dict[int, int]], x: int, y: int) -> Iterator[tuple[int, int]]:
    """Yield the items that the path of the edit keeps, from the end."""
    for edits in range(len(trace) - 1, -1, -1):
        furthest, diagonal = trace[edits], x - y
        is_down = diagonal == -edits or (
            diagonal != edits and furthest[diagonal - 1] < furthest[diagonal + 1]
        )
        origin = diagonal + 1 if is_down else diagonal - 1
        x_before = furthest[origin]
        y_before = x_before - origin
        while x > x_before and y > y_before and x > 0 and y > 0:
            x, y = x - 1, y - 1
            yield x, y
        x, y = x_before, y_before
