"""What a doctor says: sentences with a weight, in sections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

import msgspec


class Weight(str, Enum):
    """How much a finding matters: only what is wrong makes the exit status another than 0."""

    FINE = "ok"
    NOTE = "note"
    WRONG = "wrong"


class Finding(msgspec.Struct, frozen=True):
    """One sentence, and what to do about it if anything has to be done."""

    weight: Weight
    text: str
    advice: str = ""


class Section(msgspec.Struct, frozen=True):
    """Findings on one thing."""

    title: str
    findings: list[Finding]


def fine(text: str) -> Finding:
    return Finding(Weight.FINE, text)


def note(text: str, advice: str = "") -> Finding:
    return Finding(Weight.NOTE, text, advice)


def wrong(text: str, advice: str = "") -> Finding:
    return Finding(Weight.WRONG, text, advice)


def is_unwell(sections: Iterable[Section]) -> bool:
    return any(it.weight is Weight.WRONG for section in sections for it in section.findings)


def iter_lines(sections: Iterable[Section]) -> Iterator[str]:
    for section in sections:
        yield section.title
        for it in section.findings:
            yield f"  {it.weight.value:<6}{it.text}"
            if it.advice:
                yield f"        {it.advice}"
        yield ""


def name_some(names: Iterable[str], most: int = 3) -> str:
    """The first of some names, and how many more there are."""
    listed = list(names)
    shown = ", ".join(listed[:most])
    return shown if len(listed) <= most else f"{shown} and {len(listed) - most:,} more"


def count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
