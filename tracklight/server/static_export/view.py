"""Parse the URL of a page, to find out which runs a static export of it needs.

The exported page reads the URL itself. Where it cannot easily be known which runs it shows, as for
filter expressions, the export may contain more runs than are shown, but never fewer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from tracklight.server.notes import RunNote
from tracklight.server.source import RunRow

#: URL parameters that have no meaning without the server.
_DROPPED_PARAMS = frozenset({"token", "paused"})

#: The default selection of the page: all runs of a small log, the newest runs of a large one.
_MANY_RUNS = 500
_DEFAULT_NEWEST = 100

#: Parameters that say where files are on this machine.
_PRIVATE_PARAMS = frozenset({"wi-file", "wi-data"})
_EMPTY_NOTE = RunNote()

RunNotes = Mapping[str, RunNote]


@dataclass(frozen=True)
class PageView:
    """The parameters of a page's URL."""

    params: Mapping[str, str]

    @property
    def search(self) -> str:
        """The query string for the URL of the exported page."""
        shown = {name: text for name, text in self.params.items() if name not in _PRIVATE_PARAMS}
        return urlencode(shown, quote_via=quote)

    @property
    def compares_runs(self) -> bool:
        """Whether colors of runs or groups depend on the other runs, and not only by their age."""
        return self.params.get("color", "run") != "run" or "group" in self.params

    def select_runs(self, rows: Sequence[RunRow], notes: RunNotes) -> list[str]:
        """Return the names of the runs that the page shows, in the order of ``rows``."""
        matching = [
            row for row in rows if self._may_match(row.name, notes.get(row.name, _EMPTY_NOTE))
        ]
        selection = parse_selection(self.params.get("selected", ""))
        shown = selection.apply(matching, self._is_exact)
        # The baseline is needed even if it is not selected.
        shown |= {self.params["baseline"]} if "baseline" in self.params else set()
        return [row.name for row in rows if row.name in shown]

    @property
    def _is_exact(self) -> bool:
        """Whether the filter can be evaluated here; expressions cannot."""
        return not self.params.get("runs-query")

    def _may_match(self, name: str, note: RunNote) -> bool:
        if note.hidden and self.params.get("show-hidden") not in ("1", ""):
            return False
        return self._matches(name) or (bool(note.alias) and self._matches(note.alias))

    def _matches(self, name: str) -> bool:
        words = self.params.get("runs", "").lower().split()
        if words:
            return all(word in name.lower() for word in words)
        return _compile_pattern(self.params.get("runs-regex", ""))(name)


def parse_view(url: str) -> PageView:
    """Parse the URL of a page, or only its query string."""
    query = urlsplit(url).query if "?" in url else url if "=" in url else ""
    pairs = parse_qsl(query, keep_blank_values=True)
    return PageView({name: text for name, text in pairs if name not in _DROPPED_PARAMS})


@dataclass(frozen=True)
class RunSelection:
    """The selected runs: the newest ones that match the filter, with exceptions."""

    newest: float
    """How many; NaN for the default of the page."""
    included: frozenset[str]
    excluded: frozenset[str]

    def apply(self, matching: Sequence[RunRow], is_exact: bool) -> set[str]:
        names = {row.name for row in matching}
        count = self.newest
        if math.isnan(count):
            count = len(matching) if len(matching) <= _MANY_RUNS else _DEFAULT_NEWEST
        if 0 < count < len(matching) and is_exact:
            names = _select_newest(matching, int(count))
        selected = ((names if count else set()) - self.excluded) | self.included
        return selected.intersection(row.name for row in matching)


def parse_selection(text: str) -> RunSelection:
    r"""Parse ``none;+a,b/{c,d}`` or ``newest-5;-a``, as the page writes it."""
    rule, *lists = re.findall(r"(?:[^\\;]|\\.)+", text) or [""]
    included = (name for one in lists if one[0] == "+" for name in parse_run_names(one[1:]))
    excluded = (name for one in lists if one[0] == "-" for name in parse_run_names(one[1:]))
    newest = re.fullmatch(r"newest-(\d+)", rule)
    count = {"all": math.inf, "none": 0.0}.get(rule, math.nan)
    return RunSelection(
        float(newest[1]) if newest else count, frozenset(included), frozenset(excluded)
    )


def _select_newest(rows: Iterable[RunRow], count: int) -> set[str]:
    def get_age(row: RunRow) -> float:
        start = float(-math.inf if row.start_wall is None else row.start_wall)
        return math.inf if math.isnan(start) else -start

    return {row.name for row in sorted(rows, key=get_age)[:count]}


def _compile_pattern(text: str) -> Callable[[str], bool]:
    try:
        pattern = re.compile(text, re.IGNORECASE)
    except re.error:  # JavaScript has syntax that Python has not
        return lambda name: True
    return lambda name: pattern.search(name) is not None


def parse_run_names(text: str) -> list[str]:
    r"""Parse a list of run names in a URL; ``web/src/lib/run-selection.ts`` writes it.

    ``conv/{a,b},vit`` is ``conv/a``, ``conv/b`` and ``vit``. A ``\`` escapes a character, and
    ``\e`` is an empty part.
    """
    return _RunNameParser(text).parse_list() if text else []


class _RunNameParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def parse_list(self) -> list[str]:
        names = self._parse_entry()
        while self._skip(","):
            names += self._parse_entry()
        return names

    def _parse_entry(self) -> list[str]:
        prefix = self._parse_text()
        if not self._skip("{"):
            return [prefix]
        suffixes = self.parse_list()
        self._skip("}")
        return [prefix + suffix for suffix in suffixes]

    def _parse_text(self) -> str:
        text = ""
        while self._position < len(self._text) and self._text[self._position] not in ",{}":
            character = self._next()
            text += character if character != "\\" else self._next().replace("e", "")
        return text

    def _next(self) -> str:
        character = self._text[self._position : self._position + 1]
        self._position += 1
        return character

    def _skip(self, character: str) -> bool:
        if self._text[self._position : self._position + 1] != character:
            return False
        self._position += 1
        return True
