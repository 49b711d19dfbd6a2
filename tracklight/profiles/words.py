"""Words by number, in the order in which they are met."""

from __future__ import annotations


class Words:
    def __init__(self) -> None:
        self.all: list[str] = []
        self._places: dict[str, int] = {}

    def place(self, word: str) -> int:
        place = self._places.get(word)
        if place is None:
            place = self._places[word] = len(self.all)
            self.all.append(word)
        return place
