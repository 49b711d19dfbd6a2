"""Reads lists of run names as the page writes them in its address; see web/src/base/names.ts."""

from __future__ import annotations


def unpack_names(text: str) -> list[str]:
    r"""``conv/{a,b},vit`` is ``conv/a``, ``conv/b`` and ``vit``; ``\`` stands before a sign that
    is part of a name, and ``\e`` is an empty part."""
    return _Unpacker(text).read_list() if text else []


class _Unpacker:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read_list(self) -> list[str]:
        names = self._read_entry()
        while self._take(","):
            names += self._read_entry()
        return names

    def _read_entry(self) -> list[str]:
        name = self._read_text()
        if not self._take("{"):
            return [name]
        below = self.read_list()
        self._take("}")
        return [name + rest for rest in below]

    def _read_text(self) -> str:
        found = ""
        while self._at < len(self._text) and self._text[self._at] not in ",{}":
            sign = self._next()
            found += sign if sign != "\\" else self._next().replace("e", "")
        return found

    def _next(self) -> str:
        sign = self._text[self._at : self._at + 1]
        self._at += 1
        return sign

    def _take(self, sign: str) -> bool:
        if self._text[self._at : self._at + 1] != sign:
            return False
        self._at += 1
        return True
