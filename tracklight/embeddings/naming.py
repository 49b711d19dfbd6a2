"""Names for groups of points: the words in their labels that others have seldom."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from tracklight.embeddings.columns import Column
from tracklight.types import Int32

_WORD = re.compile(r"[^\W_]{2,}")
_MOST_WORDS = 3
_SAMPLE = 50_000
#: A word that more than this share of a group has says all that there is to say.
_TELLING = 0.6
_LEAST_LIFT = 1.3


def name_groups(
    groups: Int32, columns: Sequence[Column], central: Sequence[Sequence[str]]
) -> list[list[str]]:
    """A few words for each group; ``central`` are the labels of the points in its middle.

    Those stand in where no two points of a group have a word in common.
    """
    rows = np.flatnonzero(groups >= 0)
    if len(rows) > _SAMPLE:
        rows = np.random.default_rng(0).choice(rows, _SAMPLE, replace=False)
    texts = [column for column in columns if column.numbers is None]
    counts = _count_words(groups, rows, texts, len(central))
    sizes = np.bincount(groups[rows], minlength=len(central)).tolist()
    everywhere: Counter[str] = Counter()
    for some in counts:
        everywhere.update(some)
    return [
        _choose(some, size, everywhere, len(rows)) or list(labels)[:_MOST_WORDS]
        for some, size, labels in zip(counts, sizes, central, strict=True)
    ]


def _count_words(
    groups: Int32, rows: Iterable[int], columns: Sequence[Column], count: int
) -> list[Counter[str]]:
    counts: list[Counter[str]] = [Counter() for _ in range(count)]
    for row in rows:
        words: set[str] = set()
        for column in columns:
            words.update(_WORD.findall(column.get_text(int(row))))
        counts[groups[row]].update(words)
    return counts


def _choose(counts: Counter[str], size: int, everywhere: Counter[str], total: int) -> list[str]:
    scored = []
    for word, count in counts.items():
        share, usual = count / size, everywhere[word] / total
        if count > 1 and share / usual >= _LEAST_LIFT and not word.isdigit():
            scored.append((share * math.log2(share / usual), count, word))
    scored.sort(key=lambda item: (-item[0], item[2]))
    if scored and scored[0][1] >= _TELLING * size:
        return [scored[0][2]]
    return [word for _, _, word in scored[:_MOST_WORDS]]
