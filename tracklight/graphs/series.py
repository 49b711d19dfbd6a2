"""Nodes that differ by a number in their names only, which are shown as one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from tracklight.types import Bool, Int32, Int64

_DIGITS = "0123456789"
#: Numbers of more digits are no numbers in a row.
_LONGEST = 9
FEWEST_OPS = 5
_NEVER = np.iinfo(np.int64).max
#: People know their model by its scopes: only very many of them are shown as one.
FEWEST_SCOPES = 25


def split_label(label: str) -> tuple[str, int]:
    """``conv_12`` and ``conv12`` are the twelfth of ``conv``, and ``conv`` is its 0th."""
    (stem,), (number,) = split_labels([label])
    return stem, number


def split_labels(labels: Sequence[str]) -> tuple[list[str], list[int]]:
    """Many in one go: that of a huge graph takes a noticeable part of reading it."""
    plain = [label.rstrip(_DIGITS) for label in labels]
    digits = [
        label[len(stem) :] if len(label) - len(stem) <= _LONGEST else ""
        for label, stem in zip(labels, plain, strict=True)
    ]
    stems = [
        stem.rstrip("_") if number else label
        for label, stem, number in zip(labels, plain, digits, strict=True)
    ]
    return stems, [int(number) if number else 0 for number in digits]


def sort_together(
    holder: Int32, arrival: Int64, labels: Sequence[str], common: Sequence[Hashable]
) -> Int64:
    """The order of all things by what holds them: as they came, but series in a row, each where its
    first one is.

    ``common`` is what a thing has in common with others of its kind.
    """
    numbers, kind = _tell_kinds(holder, labels, common)
    by_number = np.lexsort((arrival, numbers, kind))
    rows = by_number[_find_rows(kind[by_number], numbers[by_number])]
    first, rank = arrival.copy(), np.zeros(len(arrival), np.int64)
    for begin, end in pairwise([0, *_find_changes(kind[rows]), len(rows)]):
        first[rows[begin:end]] = arrival[rows[begin:end]].min(initial=_NEVER)
    rank[rows] = np.arange(len(rows))
    return np.lexsort((rank, first, holder))


def _tell_kinds(
    holder: Int32, labels: Sequence[str], common: Sequence[Hashable]
) -> tuple[Int64, Int64]:
    """The number in each label, and one for all that stand together and differ in that only."""
    stems, numbers = split_labels(labels)
    stem, sort = _number(stems), _number(common)
    # In 64 bits from the start: before NumPy 2, a product of 32 bits and one number stays in these.
    by_stem = holder.astype(np.int64) * (stem.max(initial=0) + 1) + stem
    kind = by_stem * (sort.max(initial=0) + 1) + sort
    return np.array(numbers, np.int64), kind


def _number(things: Sequence[Hashable]) -> Int64:
    """Equal numbers for equal things."""
    known = {thing: number for number, thing in enumerate(dict.fromkeys(things))}
    return np.array([known[thing] for thing in things], np.int64)


def _find_rows(kind: Int64, numbers: Int64) -> Bool:
    """Whether each of some sorted things is of a kind with enough that follow each other."""
    follows = (np.diff(kind) == 0) & (np.diff(numbers) == 1)
    begins = np.flatnonzero(follows)
    for _ in range(FEWEST_OPS - 2):
        begins = begins[begins + 1 < len(follows)] + 1
        begins = begins[follows[begins]]
    return np.isin(kind, kind[begins])


def _find_changes(kind: Int64) -> list[int]:
    changes: list[int] = (np.flatnonzero(np.diff(kind)) + 1).tolist()
    return changes


def iter_runs(labels: Sequence[str], common: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Where stretches of one kind with numbers that follow each other begin and end."""
    first, before = 0, None
    for place, (label, shared) in enumerate(zip(labels, common, strict=True)):
        stem, number = split_label(label)
        if place and before != (stem, number - 1, shared):
            yield first, place
            first = place
        before = (stem, number, shared)
    if labels:
        yield first, len(labels)
