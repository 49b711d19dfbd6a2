"""Nodes that differ by a number in their names only, which are shown as one."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")

_DIGITS = "0123456789"
#: Numbers of more digits are no numbers in a row.
_LONGEST = 9
FEWEST_OPS = 5
#: People know their model by its scopes: only very many of them are shown as one.
FEWEST_SCOPES = 25


def split_label(label: str) -> tuple[str, int]:
    """``conv_12`` and ``conv12`` are the twelfth of ``conv``, and ``conv`` is its 0th."""
    stem = label.rstrip(_DIGITS)
    digits = len(label) - len(stem)
    if not 0 < digits <= _LONGEST:
        return label, 0
    return stem.rstrip("_"), int(label[-digits:])


def put_together(labelled: Sequence[tuple[str, Hashable, T]]) -> list[T]:
    """Things in the order in which they came, but series in a row, each where its first one is.

    Each comes with its label and what it has in common with others of its kind.
    """
    if len(labelled) < FEWEST_OPS:
        return [each for _, _, each in labelled]
    kinds: dict[tuple[str, Hashable], list[tuple[int, int]]] = {}
    for place, (label, common, _) in enumerate(labelled):
        stem, number = split_label(label)
        kinds.setdefault((stem, common), []).append((number, place))
    order = [(place, 0) for place in range(len(labelled))]
    for kind in kinds.values():
        if len(kind) >= FEWEST_OPS and _has_row(sorted(number for number, _ in kind)):
            _, first = kind[0]
            for rank, (_, place) in enumerate(sorted(kind)):
                order[place] = (first, rank)
    return [labelled[place][2] for place in sorted(range(len(order)), key=order.__getitem__)]


def _has_row(numbers: Sequence[int]) -> bool:
    """Whether enough of some sorted numbers follow each other."""
    length = 1
    for before, number in pairwise(numbers):
        length = length + 1 if number == before + 1 else 1
        if length >= FEWEST_OPS:
            return True
    return False


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
