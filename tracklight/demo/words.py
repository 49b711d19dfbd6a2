"""Vectors of words as a language model learns them: noise at first, then groups, then relations."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from tracklight.demo.vocabulary import GROUPS, PAIRS
from tracklight.types import Float64

STEPS = (0, 250, 1000, 4000, 16_000)
_DIMENSIONS = 48


class Word(NamedTuple):
    text: str
    group: str
    part: int
    """Which of a pair it is, the first or the second; 0 where there is none."""
    pair: int


def list_words() -> list[Word]:
    """All words, each once."""
    words: dict[str, Word] = {}
    for names, text in PAIRS.items():
        for number, pair in enumerate(text.split()):
            for part, word in enumerate(pair.split("/")):
                words.setdefault(word, Word(word, names[part], part, number))
    for name, text in GROUPS.items():
        for word in text.split():
            words.setdefault(word, Word(word, name, 0, -1))
    return list(words.values())


def write_words(run: Path, *, seed: int) -> str:
    """Write the vectors of all steps and their labels; gives what a config says of them."""
    rng = np.random.default_rng([seed, 107])
    words = list_words()
    (run / "words.tsv").write_text(_format_labels(words), encoding="utf-8")
    noise = rng.normal(0, 0.25, (len(words), _DIMENSIONS))
    learnt = _place(words, rng)
    blocks = []
    for step in STEPS:
        share = 1 - np.exp(-step / 1500)
        vectors = (1 - share) * noise + share * learnt
        name = f"words-{step:05d}.bytes"
        (run / name).write_bytes(vectors.astype("<f4").tobytes())
        blocks.append(_format_block(step, name, len(words)))
    return "".join(blocks)


def _place(words: list[Word], rng: np.random.Generator) -> Float64:
    """A middle for each group, a direction from the first to the second of all pairs of a kind."""
    middles: dict[str, Float64] = {}
    for first, second in PAIRS:
        middles[first] = rng.normal(0, 1, _DIMENSIONS)
        middles[second] = middles[first] + rng.normal(0, 0.45, _DIMENSIONS)
    for name in GROUPS:
        middles[name] = rng.normal(0, 1, _DIMENSIONS)
    # What one grows in a garden, and what one eats.
    middles["vegetable"] = middles["fruit"] + rng.normal(0, 0.5, _DIMENSIONS)
    of_pairs: dict[tuple[str, int], Float64] = {}
    kinds = {name: names[0] for names in PAIRS for name in names}
    places = []
    for word in words:
        own = rng.normal(0, 0.35, _DIMENSIONS)
        if word.group in kinds:
            own = of_pairs.setdefault((kinds[word.group], word.pair), own)
            own = own + rng.normal(0, 0.08, _DIMENSIONS)
        places.append(middles[word.group] + own)
    return np.array(places)


def _format_labels(words: list[Word]) -> str:
    rows = ["word\tgroup\tletters\tcount"]
    for rank, word in enumerate(words, 1):
        # The rule of Zipf: the n-th word is seen an n-th as often as the first.
        rows.append(f"{word.text}\t{word.group}\t{len(word.text)}\t{90_000 // rank}")
    return "\n".join(rows) + "\n"


def _format_block(step: int, path: str, count: int) -> str:
    return f"""\
embeddings {{
  tensor_name: "word_vectors:{step:05d}"
  tensor_shape: {count}
  tensor_shape: {_DIMENSIONS}
  tensor_path: "{path}"
  metadata_path: "words.tsv"
}}
"""
