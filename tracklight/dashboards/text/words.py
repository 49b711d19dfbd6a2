"""Which words differ in lines that were put in place of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tracklight.dashboards.text.alignment import align
from tracklight.media.markdown.deadline import Deadline

_WORD = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")
_MOST_WORDS = 3000
#: With less in common than this share, marks would be all over and say nothing.
_LEAST_COMMON = 0.25

#: The words of a line: those with odd places differ.
Parts = list[str]


def mark_words(
    removed: Sequence[str], added: Sequence[str], deadline: Deadline
) -> tuple[list[Parts], list[Parts]]:
    """The lines of both sides, split where words begin and end to differ."""
    before, after = _WORD.findall("\n".join(removed)), _WORD.findall("\n".join(added))
    is_too_long = deadline.is_over or max(len(before), len(after)) > _MOST_WORDS
    if not before or not after or is_too_long:
        return _leave(removed), _leave(added)
    pairs = align(before, after, deadline)
    common = sum(len(before[i]) for i, _ in pairs if not before[i].isspace())
    if common < _LEAST_COMMON * min(_count_letters(before), _count_letters(after)):
        return _leave(removed), _leave(added)
    return (
        _split(before, {i for i, _ in pairs}),
        _split(after, {j for _, j in pairs}),
    )


def _leave(lines: Iterable[str]) -> list[Parts]:
    return [[line] for line in lines]


def _count_letters(words: Iterable[str]) -> int:
    return sum(len(word) for word in words if not word.isspace())


def _split(words: Sequence[str], common: set[int]) -> list[Parts]:
    lines: list[Parts] = [[""]]
    for at, word in enumerate(words):
        if word == "\n":
            lines.append([""])
            continue
        is_marked = not _is_plain(words, at, common)
        parts = lines[-1]
        if (len(parts) % 2 == 0) != is_marked:
            parts.append("")
        parts[-1] += word
    return lines


def _is_plain(words: Sequence[str], at: int, common: set[int]) -> bool:
    """A space between two words that differ is part of what differs."""
    if at not in common:
        return False
    between = 0 < at < len(words) - 1 and at - 1 not in common and at + 1 not in common
    return not (words[at].isspace() and between)
