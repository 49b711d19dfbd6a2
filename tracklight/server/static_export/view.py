"""Reads lists of run names as the page writes them in its address; see web/src/base/names.ts."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tracklight.server.notes import RunNote
from tracklight.server.source import RunRow


def parse_run_names(text: str) -> list[str]:
    r"""``conv/{a,b},vit`` is ``conv/a``, ``conv/b`` and ``vit``; ``\`` stands before a sign that
    is part of a name, and ``\e`` is an empty part."""
    return _RunNameParser(text).read_list() if text else []


class _RunNameParser:
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


# What the address of a page says is to be seen, as far as a copy has to know it.
#
# The copy's page reads the address by itself; here it only matters which runs it can show. Where
# that is not easily told, as for a filter that is an expression, there may be more of them than
# are shown, but never fewer.

#: Parameters that concern the server that is left behind.
_DROPPED_PARAMS = frozenset({"token", "paused"})

#: What the page ticks by itself: every run of a small log, the newest of a large one.
_MANY_RUNS = 500

_NEWEST_OF_MANY = 100

RunNotes = Mapping[str, RunNote]

_EMPTY_NOTE = RunNote()


@dataclass(frozen=True)
class PageView:
    """The parameters of an address."""

    params: Mapping[str, str]

    @property
    def search(self) -> str:
        """As the query of the copy's own address."""
        return urlencode(self.params, quote_via=quote)

    @property
    def compares_runs(self) -> bool:
        """Whether the colour of a run depends on which others there are."""
        return self.params.get("colour", "run") != "run"

    def select_runs(self, rows: Sequence[RunRow], notes: RunNotes) -> list[str]:
        """The runs that the page shows, in the order given."""
        found = [row for row in rows if self._may_match(row.name, notes.get(row.name, _EMPTY_NOTE))]
        selection = parse_selection(self.params.get("sel", ""))
        shown = selection.apply(found, self._is_exact)
        # A run that others are compared with is needed whether it is ticked or not.
        shown |= {self.params["base"]} if "base" in self.params else set()
        return [row.name for row in rows if row.name in shown]

    @property
    def _is_exact(self) -> bool:
        return not self.params.get("runs-expr")

    def _may_match(self, name: str, said: RunNote) -> bool:
        if said.hidden and self.params.get("hidden") not in ("1", ""):
            return False
        return self._matches(name) or (bool(said.alias) and self._matches(said.alias))

    def _matches(self, name: str) -> bool:
        words = self.params.get("runs", "").lower().split()
        if words:
            return all(word in name.lower() for word in words)
        return _compile_pattern(self.params.get("runs-re", ""))(name)


def parse_view(address: str) -> PageView:
    """From the address of a page, or from its query alone."""
    query = urlsplit(address).query if "?" in address else address if "=" in address else ""
    pairs = parse_qsl(query, keep_blank_values=True)
    return PageView({name: text for name, text in pairs if name not in _DROPPED_PARAMS})


@dataclass(frozen=True)
class RunSelection:
    """Which runs are ticked: the newest of those that are found, and exceptions."""

    newest: float
    """NaN leaves it to the number of runs."""
    included: frozenset[str]
    excluded: frozenset[str]

    def apply(self, found: Sequence[RunRow], is_exact: bool) -> set[str]:
        names = {row.name for row in found}
        reach = self.newest
        if math.isnan(reach):
            reach = len(found) if len(found) <= _MANY_RUNS else _NEWEST_OF_MANY
        if 0 < reach < len(found) and is_exact:
            names = _select_newest(found, int(reach))
        ticked = ((names if reach else set()) - self.excluded) | self.included
        return ticked.intersection(row.name for row in found)


def parse_selection(text: str) -> RunSelection:
    r"""``none;+a,b/{c,d}`` or ``newest-5;-a``, as the page writes it."""
    rule, *lists = re.findall(r"(?:[^\\;]|\\.)+", text) or [""]
    on = (name for one in lists if one[0] == "+" for name in parse_run_names(one[1:]))
    off = (name for one in lists if one[0] == "-" for name in parse_run_names(one[1:]))
    newest = re.fullmatch(r"newest-(\d+)", rule)
    reach = {"all": math.inf, "none": 0.0}.get(rule, math.nan)
    return RunSelection(float(newest[1]) if newest else reach, frozenset(on), frozenset(off))


def _select_newest(rows: Iterable[RunRow], count: int) -> set[str]:
    def age(row: RunRow) -> float:
        start = float(-math.inf if row.start_wall is None else row.start_wall)
        return math.inf if math.isnan(start) else -start

    return {row.name for row in sorted(rows, key=age)[:count]}


def _compile_pattern(text: str) -> Callable[[str], bool]:
    try:
        pattern = re.compile(text, re.IGNORECASE)
    except re.error:  # the page's language has expressions that Python's has not
        return lambda name: True
    return lambda name: pattern.search(name) is not None
