"""What the address of a page says is to be seen, as far as a copy has to know it.

The copy's page reads the address by itself; here it only matters which runs it can show. Where
that is not easily told, as for a filter that is an expression, there may be more of them than
are shown, but never fewer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tracklight.notes.book import RunNote
from tracklight.server.wire import RunRow
from tracklight.snapshot.names import unpack_names

#: Parameters that concern the server that is left behind.
_LEFT_BEHIND = frozenset({"token", "paused"})

#: What the page ticks by itself: every run of a small log, the newest of a large one.
_MANY_RUNS = 500
_NEWEST_OF_MANY = 100

Notes = Mapping[str, RunNote]
_SILENCE = RunNote()


@dataclass(frozen=True)
class View:
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

    def choose(self, rows: Sequence[RunRow], notes: Notes) -> list[str]:
        """The runs that the page shows, in the order given."""
        found = [row for row in rows if self._may_find(row.name, notes.get(row.name, _SILENCE))]
        selection = parse_selection(self.params.get("sel", ""))
        shown = selection.apply(found, self._is_exact)
        # A run that others are compared with is needed whether it is ticked or not.
        shown |= {self.params["base"]} if "base" in self.params else set()
        return [row.name for row in rows if row.name in shown]

    @property
    def _is_exact(self) -> bool:
        return not self.params.get("runs-expr")

    def _may_find(self, name: str, said: RunNote) -> bool:
        if said.hidden and self.params.get("hidden") not in ("1", ""):
            return False
        return self._matches(name) or (bool(said.alias) and self._matches(said.alias))

    def _matches(self, name: str) -> bool:
        words = self.params.get("runs", "").lower().split()
        if words:
            return all(word in name.lower() for word in words)
        return _find_pattern(self.params.get("runs-re", ""))(name)


def parse_view(address: str) -> View:
    """From the address of a page, or from its query alone."""
    query = urlsplit(address).query if "?" in address else address if "=" in address else ""
    pairs = parse_qsl(query, keep_blank_values=True)
    return View({name: text for name, text in pairs if name not in _LEFT_BEHIND})


@dataclass(frozen=True)
class Selection:
    """Which runs are ticked: the newest of those that are found, and exceptions."""

    newest: float
    """NaN leaves it to the number of runs."""
    on: frozenset[str]
    off: frozenset[str]

    def apply(self, found: Sequence[RunRow], is_exact: bool) -> set[str]:
        names = {row.name for row in found}
        reach = self.newest
        if math.isnan(reach):
            reach = len(found) if len(found) <= _MANY_RUNS else _NEWEST_OF_MANY
        if 0 < reach < len(found) and is_exact:
            names = _find_newest(found, int(reach))
        ticked = ((names if reach else set()) - self.off) | self.on
        return ticked.intersection(row.name for row in found)


def parse_selection(text: str) -> Selection:
    r"""``none;+a,b/{c,d}`` or ``newest-5;-a``, as the page writes it."""
    rule, *lists = re.findall(r"(?:[^\\;]|\\.)+", text) or [""]
    on = (name for one in lists if one[0] == "+" for name in unpack_names(one[1:]))
    off = (name for one in lists if one[0] == "-" for name in unpack_names(one[1:]))
    newest = re.fullmatch(r"newest-(\d+)", rule)
    reach = {"all": math.inf, "none": 0.0}.get(rule, math.nan)
    return Selection(float(newest[1]) if newest else reach, frozenset(on), frozenset(off))


def _find_newest(rows: Iterable[RunRow], count: int) -> set[str]:
    def age(row: RunRow) -> float:
        start = float(-math.inf if row.start_wall is None else row.start_wall)
        return math.inf if math.isnan(start) else -start

    return {row.name for row in sorted(rows, key=age)[:count]}


def _find_pattern(text: str) -> Callable[[str], bool]:
    try:
        pattern = re.compile(text, re.IGNORECASE)
    except re.error:  # the page's language has expressions that Python's has not
        return lambda name: True
    return lambda name: pattern.search(name) is not None
