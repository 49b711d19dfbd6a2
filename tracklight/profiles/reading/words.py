"""Numbers things in the order in which they are met."""

from __future__ import annotations

from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Places(dict[Thing, int], Generic[Thing]):
    """Asking for a thing gives its number; a million asks must cost little, so this is a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Thing] = []

    def __missing__(self, thing: Thing) -> int:
        place = self[thing] = len(self.all)
        self.all.append(thing)
        return place


class Words(Places[str]):
    def place(self, word: str) -> int:
        return self[word]
