"""Finds nodes by words in their names, operations, attributes, shapes, types and devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tracklight.graphs.attributes import format_shape
from tracklight.graphs.hierarchy import Hierarchy
from tracklight.graphs.model import Detail

Where = Literal["name", "op", "attribute", "shape", "dtype", "device"]

_PREFIXES: dict[str, Where] = {
    "name:": "name",
    "op:": "op",
    "attr:": "attribute",
    "shape:": "shape",
    "dtype:": "dtype",
    "device:": "device",
}
#: What nearly everybody looks for, and what is known without looking at every node.
_QUICK: tuple[Where, ...] = ("name", "op")
_SLOW: tuple[Where, ...] = ("shape", "dtype", "device", "attribute")
_LONGEST = 200
#: Gathering all texts of so many nodes takes seconds.
_HUGE = 20_000
_CROSS = "\N{MULTIPLICATION SIGN}"


@dataclass(frozen=True, slots=True)
class Word:
    """A part of a query; ``parts`` are what stands between the asterisks."""

    where: tuple[Where, ...]
    parts: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        at = 0
        for part in self.parts:
            found = text.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return True


@dataclass(frozen=True, slots=True)
class Hit:
    """A node by its place, or ``~scope``; ``where`` and ``text`` say why."""

    item: int
    where: Where
    text: str


def parse_query(query: str) -> list[Word]:
    return [_parse_word(word) for word in query.lower().split()]


class Index:
    """The texts of one sheet; those that take a look at every node are gathered when needed."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy

    def find(self, words: Sequence[Word], enough: int) -> Iterator[Hit]:
        """Scopes by their names first, then nodes by names and operations, and if those are not
        ``enough``, nodes by all the rest. In a huge graph any hit is enough."""
        if not words:
            return
        enough = enough if len(self._hierarchy.graph) <= _HUGE else 1
        yield from self._find_scopes(words)
        quick = list(self._find_nodes(words, _QUICK))
        yield from quick
        if len(quick) < enough:
            found = {hit.item for hit in quick}
            hits = self._find_nodes(words, (*_QUICK, *_SLOW))
            yield from (hit for hit in hits if hit.item not in found)

    def _find_scopes(self, words: Sequence[Word]) -> Iterator[Hit]:
        if not all("name" in word.where for word in words):
            return
        for scope, path in enumerate(self._hierarchy.scopes.paths):
            text = path.lower()
            label = text.rpartition("/")[2]
            if scope and _all_in(words, text) and any(word.is_in(label) for word in words):
                yield Hit(~scope, "name", path)

    def _find_nodes(self, words: Sequence[Word], allowed: tuple[Where, ...]) -> Iterator[Hit]:
        if not all(set(word.where) & set(allowed) for word in words):
            return
        columns = [[(at, self._text(at)) for at in word.where if at in allowed] for word in words]
        for place in self._hierarchy.order.tolist():
            why: tuple[Where, str] | None = None
            for word, texts in zip(words, columns, strict=True):
                found = next((at for at, text in texts if word.is_in(text[place])), None)
                if found is None:
                    break
                if why is None or why[0] in _QUICK:
                    why = found, self._quote(found, place, word)
            else:
                if why is not None:
                    yield Hit(place, *why)

    def _text(self, where: Where) -> Sequence[str]:
        if where == "name":
            return self._names
        if where == "op":
            return self._ops
        return self._rest[where]

    def _quote(self, where: Where, place: int, word: Word) -> str:
        graph = self._hierarchy.graph
        if where == "name":
            return graph.names[place]
        if where == "op":
            return graph.ops[place]
        if where == "attribute":
            said = _iter_said(graph.describe(place))
            return next((text for text in said if word.is_in(text.lower())), "")[:_LONGEST]
        return self._rest[where][place][:_LONGEST]

    @cached_property
    def _names(self) -> Sequence[str]:
        return [path.lower() for path in self._hierarchy.paths]

    @cached_property
    def _ops(self) -> Sequence[str]:
        return [op.lower() for op in self._hierarchy.graph.ops]

    @cached_property
    def _rest(self) -> dict[Where, list[str]]:
        texts: dict[Where, list[str]] = {where: [] for where in _SLOW}
        for place in range(len(self._hierarchy.graph)):
            detail = self._hierarchy.graph.describe(place)
            outputs = detail.outputs
            texts["shape"].append(" ".join(format_shape(it.shape) for it in outputs))
            texts["dtype"].append(" ".join({it.dtype: None for it in outputs}).lower())
            texts["device"].append(detail.device.lower())
            texts["attribute"].append("\n".join(_iter_said(detail)).lower())
        return texts


def _iter_said(detail: Detail) -> Iterator[str]:
    yield from (f"{key}={value}" for key, value in detail.attributes.items())
    if detail.source:
        yield detail.source


def _parse_word(word: str) -> Word:
    for prefix, where in _PREFIXES.items():
        if word.startswith(prefix):
            rest = word.removeprefix(prefix)
            return Word((where,), _split(_spell_shape(rest) if where == "shape" else rest))
    everywhere = (*_QUICK, *_SLOW)
    shape = _spell_shape(word)
    return Word(("shape",) if shape != word else everywhere, _split(shape))


def _spell_shape(word: str) -> str:
    """``3x3x64`` as shapes are written; other words with an x in them are left alone."""
    sizes = word.replace(_CROSS, "x").split("x")
    known = all(size.isdecimal() or size in ("?", "*") for size in sizes)
    return _CROSS.join(sizes) if len(sizes) > 1 and known else word


def _split(word: str) -> tuple[str, ...]:
    return tuple(part for part in word.split("*") if part)


def _all_in(words: Sequence[Word], text: str) -> bool:
    return all(word.is_in(text) for word in words)
