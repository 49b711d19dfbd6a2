"""Export a view of a log as files that open without a server: a folder, or one HTML file.

The exported page reads its URL itself. `parse_view` finds out which runs it shows. Where this
cannot easily be known, as for filter expressions, the export may contain more runs than are shown,
but never fewer. The page assigns colors to the oldest runs of a log. An export has only some of
them, so it stores the colors. ``web/src/lib/run-colors.ts`` is the original, and a test compares
both.

`ExportContents` collects responses, each under the URL at which the page requests it. A page opened
from a file must not fetch anything and must not load modules; it may load plain scripts. So all
data is in scripts, and no name from a log may end one of them.
"""

from __future__ import annotations

import base64
import logging
import math
import re
import time
import zlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, cast
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import msgspec
import numpy as np
from numpy.typing import NDArray

import tracklight
from tracklight.analysis.derived_metrics import DerivedLog
from tracklight.analysis.source import NO_ACCESS, Blob, DataAccess, Empty
from tracklight.errors import LogError, UsageError
from tracklight.reader.export import open_output
from tracklight.server.alerts.monitor import AlertsResponse
from tracklight.server.api import (
    DashboardRow,
    FilesResponse,
    RootRow,
    RunsResponse,
    StatusResponse,
    TagsResponse,
)
from tracklight.server.events import LoadStatus
from tracklight.server.notes import NotesResponse, NotesStore, RunNote
from tracklight.server.plugins import DashboardEntry, DashboardRegistry, create_static_context
from tracklight.server.responses import encode_columns
from tracklight.server.routing import API_PREFIX, PAGE_DIR
from tracklight.server.run_table.run_columns import (
    ColumnListResponse,
    ColumnsRequest,
    ColumnsResponse,
    RunColumnsApi,
)
from tracklight.server.source import (
    FileRow,
    LogOverview,
    LogSource,
    RunRow,
    make_file_row,
    make_progress_row,
    make_tag_row,
    to_valid_unicode,
)
from tracklight.types import CaptureFile, DebugEventFile, RunInfo, SharedTag, TagInfo
from tracklight.util.files import get_notes_path

# ---- the view

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
    included = (name for item in lists if item[0] == "+" for name in parse_run_names(item[1:]))
    excluded = (name for item in lists if item[0] == "-" for name in parse_run_names(item[1:]))
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


# ---- colors of runs

RUN_COLORS = (
    "#5f8dd3", "#dd7900", "#2f9e5b", "#c2379a", "#3f8f8b", "#b0413e", "#7a5cc7", "#8a6d1a",
    "#e0559a", "#4d7c0f", "#5b6b82", "#b45309", "#1d74b8", "#e2604f", "#0d97a8", "#a06bd6",
    "#a98700", "#6f9a1f", "#c93060", "#2b7a5f", "#8f6650", "#4269d0", "#7f8a70", "#a35b91",
)  # fmt: skip

#: The first colors, which differ most; a small log has only these.
_DISTINCT_COLORS = 8
_SPLIT_SUFFIX = re.compile(
    r"(?:^|[/_.-])(train|training|val|valid|validation|eval|evaluation|test)\Z", re.IGNORECASE
)
_DIGIT_WEIGHTS = (1, 7, 5, 11)


def assign_run_colors(rows: Sequence[RunRow]) -> dict[str, str]:
    """Return the colors of the oldest runs.

    Args:
        rows: All runs of the log, in natural order.
    """
    newest_first = sorted(rows, key=_get_start, reverse=True)
    # Runs with the same start keep their order when they are sorted, as in the page.
    return _assign(row.name for row in reversed(newest_first))


def _get_start(row: RunRow) -> float:
    start = -math.inf if row.start_wall is None else float(row.start_wall)
    return -math.inf if math.isnan(start) else start


def _assign(names_by_age: Iterable[str]) -> dict[str, str]:
    assigned: dict[str, str] = {}
    taken: set[str] = set()
    for name in names_by_age:
        if len(taken) == len(RUN_COLORS):
            break
        experiment = _SPLIT_SUFFIX.sub("", name)
        color = assigned.get(experiment) or _pick_free_color(name, taken)
        taken.add(color)
        assigned[experiment] = assigned[name] = color
    return assigned


def _pick_free_color(name: str, taken: set[str]) -> str:
    pool = RUN_COLORS[:_DISTINCT_COLORS] if len(taken) < _DISTINCT_COLORS else RUN_COLORS
    first = hash_run_name(name) % len(pool)
    return next(color for color in (*pool[first:], *pool[:first]) if color not in taken)


def hash_run_name(name: str) -> int:
    """Return the number that gives a run its default color."""
    words = _SPLIT_SUFFIX.sub("", name)
    numbers = sum(map(_hash_digits, re.findall("[0-9]+", words)))
    return _hash_text(re.sub("[0-9]+", "#", words)) + numbers


def _hash_digits(digits: str) -> int:
    zeros = len(digits) - len(digits.lstrip("0")) if digits.strip("0") else len(digits) - 1
    weight = 5 * zeros
    rest = int(digits[-6:])
    for factor in _DIGIT_WEIGHTS:
        weight += factor * (rest % len(RUN_COLORS))
        rest //= len(RUN_COLORS)
    return weight


def _hash_text(text: str) -> int:
    """FNV-1a, 32 bit, of the UTF-16 code units."""
    units = text.encode("utf-16-le", "surrogatepass")
    value = 0x811C9DC5
    for low, high in zip(units[::2], units[1::2], strict=True):
        value = ((value ^ (low | high << 8)) * 0x01000193) & 0xFFFFFFFF
    return value


# ---- contents

log = logging.getLogger(__name__)

_CURSOR = "static"
#: Limits the size of exports of logs with thousands of tags.
_MAX_TABLE_COLUMNS = 1000
_EMPTY_ALERTS = AlertsResponse([], [], False)


class TagRuns(msgspec.Struct):
    """Which runs have a tag: an index into ``sets``, as many tags have the same runs."""

    sets: list[list[str]]
    tags: dict[str, int]


class ExportHead(msgspec.Struct):
    """What the page of an export loads first: the view, and responses that every view needs."""

    created: float
    view: str
    responses: dict[str, object]
    columns: ColumnsResponse
    """All columns of the run table."""
    run_colors: dict[str, str]
    """Colors of exported runs that depend on the other runs of the log."""
    tag_runs: TagRuns


class ExportContents:
    """The contents of the export of one view.

    Args:
        source: The log.
        view: The view to export.
        runs: Runs that may be exported.
        tags: Tags that may be exported.
        access: What dashboards may read besides the log.

    Raises:
        LogError: The view shows no runs.
    """

    def __init__(
        self,
        source: LogSource,
        view: PageView,
        runs: Container[str],
        tags: Container[str],
        access: DataAccess = NO_ACCESS,
    ) -> None:
        notes = NotesStore(get_notes_path(root.path for root in source.roots)).read()
        source = cast(LogSource, DerivedLog(source, lambda: notes.metrics))
        all_rows = list(LogOverview(source).runs().values())
        rows = [row for row in all_rows if row.name in runs]
        self.runs = view.select_runs(rows, notes.runs)
        has_files = (
            source.tensor_files()
            or source.evaluation_files()
            or source.study_files()
            or access.data_dirs
        )
        if not self.runs and (rows or not has_files):
            raise LogError(
                "export.no_runs", "this view shows no runs, so there is nothing to export"
            )
        self._view = view
        colors = assign_run_colors(all_rows)
        self._run_colors = {run: colors[run] for run in self.runs if run in colors}
        listed = {row.name for row in rows} if view.compares_runs else set(self.runs)
        self._table_source = cast(LogSource, FilteredSource(source, listed, tags))
        self._source = cast(LogSource, FilteredSource(source, frozenset(self.runs), tags))
        self._overview = LogOverview(self._source)
        self._registry = DashboardRegistry(
            create_static_context(self._source, self._overview, _CURSOR, access, view.params)
        )
        self._notes = NotesResponse(
            revision=notes.revision,
            runs=_select_notes(notes.runs, self.runs, listed),
            annotations=notes.annotations,
            layouts=notes.layouts,
            metrics=notes.metrics,
            alerts=_EMPTY_ALERTS,
        )

    def build_head(self, exported: Iterable[str]) -> ExportHead:
        """Build the head; ``exported`` are the names of the dashboards that have contents."""
        overview = LogOverview(self._table_source)
        table = RunColumnsApi(self._table_source, overview)
        columns = table.list_columns(Empty())
        responses: dict[str, object] = {
            "status": self._build_status(),
            "runs": RunsResponse(_CURSOR, list(overview.runs().values())),
            "tags": TagsResponse(_CURSOR, None, [*map(make_tag_row, self._overview.tags())]),
            "files?damaged=1": FilesResponse(self._list_damaged_files()),
            "dashboards": self._list_dashboards(frozenset(exported)),
            "notes": self._notes,
            "runs/columns": columns,
        }
        return ExportHead(
            created=time.time(),
            view=self._view.search,
            responses={f"{API_PREFIX}/{path}": response for path, response in responses.items()},
            columns=_read_all_columns(table, columns),
            run_colors=self._run_colors,
            tag_runs=_group_runs_by_tag(self._overview.tags()),
        )

    def iter_parts(self) -> Iterator[tuple[str, str, object]]:
        """Yield what dashboards export: the name of the dashboard, the URL and the response."""
        for name, entry in self._registry.entries.items():
            if entry.web_dir is None:
                parts = entry.get_dashboard().export_static(self.runs)
            else:
                parts = _export_plugin(entry, self.runs)
            for path, response in parts:
                yield name, f"{API_PREFIX}/{name}/{path}", response

    def _build_status(self) -> StatusResponse:
        # Only the last part of paths: where the log is on this machine is private.
        roots = [
            RootRow(root.name, to_valid_unicode(PurePath(root.path).name))
            for root in self._source.roots
        ]
        status = LoadStatus(False, make_progress_row(self._source.progress), [], 0)
        return StatusResponse(tracklight.__version__, _CURSOR, roots, status, [], read_only=True)

    def _list_dashboards(self, exported: frozenset[str]) -> list[DashboardRow]:
        return [
            DashboardRow(
                name=name,
                title=entry.title,
                plugins=list(entry.plugins),
                active=name in exported,
                module_url=embed_module(entry.web_dir) if name in exported else None,
            )
            for name, entry in self._registry.entries.items()
        ]

    def _list_damaged_files(self) -> list[FileRow]:
        rows = (make_file_row(run, info) for run in self.runs for info in self._source.files(run))
        return [
            msgspec.structs.replace(row, path=PurePath(row.path).name)
            for row in rows
            if row.damaged
        ]


class FilteredSource:
    """A log that lists only some of its runs and tags.

    Everything else comes from the whole log, so that runs inherit hyperparameters also from runs
    that are not exported.
    """

    def __init__(self, source: LogSource, runs: Container[str], tags: Container[str]) -> None:
        self._source = source
        self._runs = runs
        self._tags = tags

    def runs(self) -> tuple[RunInfo, ...]:
        return tuple(run for run in self._source.runs() if run.name in self._runs)

    def tags(self, run: str) -> tuple[TagInfo, ...]:
        return tuple(info for info in self._source.tags(run) if info.tag in self._tags)

    def shared_tags(self, runs: Sequence[str]) -> tuple[SharedTag, ...]:
        shared = self._source.shared_tags(runs)
        return tuple(tag for tag in shared if tag.tag in self._tags)

    def captures(self) -> tuple[CaptureFile, ...]:
        return tuple(file for file in self._source.captures() if file.run in self._runs)

    def debug_files(self) -> tuple[DebugEventFile, ...]:
        return tuple(file for file in self._source.debug_files() if file.run in self._runs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)


def embed_module(web_dir: Path | None) -> str | None:
    """Return the ``index.js`` of a plugin as a data URL; None for built-in dashboards.

    Pages opened from a file must not import other files.
    """
    if web_dir is None:
        return None
    module = base64.b64encode((web_dir / "index.js").read_bytes()).decode("ascii")
    return f"data:text/javascript;base64,{module}"


def _export_plugin(entry: DashboardEntry, runs: Sequence[str]) -> Iterable[tuple[str, object]]:
    """Return the export of a third-party dashboard; nothing, and a warning, if it fails."""
    try:
        return list(entry.get_dashboard().export_static(runs))
    except Exception as error:
        reason = f"{error} ({type(error).__name__})"
        log.warning("the dashboard %s is not exported: %s", entry.name, reason)
        return ()


def _group_runs_by_tag(tags: Iterable[SharedTag]) -> TagRuns:
    runs: dict[str, tuple[str, ...]] = {}
    for shared in tags:
        runs[shared.tag] = (*runs.get(shared.tag, ()), *shared.runs)
    index = {names: i for i, names in enumerate(dict.fromkeys(runs.values()))}
    return TagRuns(
        [[*names] for names in index], {tag: index[names] for tag, names in runs.items()}
    )


def _select_notes(
    notes: Mapping[str, RunNote], exported: Iterable[str], listed: Iterable[str]
) -> dict[str, RunNote]:
    """Return the notes on exported runs, and hide the runs that are listed only for colors."""
    selected = {run: notes[run] for run in exported if run in notes}
    hidden = dict.fromkeys(set(listed).difference(exported), RunNote(hidden=True))
    return selected | hidden


def _read_all_columns(table: RunColumnsApi, columns: ColumnListResponse) -> ColumnsResponse:
    keys = [f"hparam:{column.name}" for column in columns.hparams]
    keys += [f"{kind}:{tag}" for tag in columns.metrics for kind in ("last", "min", "max")]
    return table.read_columns(ColumnsRequest(keys[:_MAX_TABLE_COLUMNS]))


# ---- writing

#: Browsers open larger files, but slowly.
_MAX_FILE_BYTES = 100 << 20
#: Images and audio are already compressed, so they are only stored.
_DEFLATE_LEVEL = 6
_STORE_LEVEL = 0

_BOOTSTRAP_SCRIPT = (
    "var tracklight={packed:{},files:{},put:function(at,data){this.packed[at]=data},head:null};"
)
#: Characters that could end a script, begin a comment, or end a line in JavaScript but not in JSON.
_ESCAPES = {
    "<": "\\u003c",
    ">": "\\u003e",
    "&": "\\u0026",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
}

#: Called with the number of parts that were just written.
ProgressCallback = Callable[[int], None]


def write_static_export(
    contents: ExportContents, target: Path, on_progress: ProgressCallback = lambda parts: None
) -> None:
    """Write an export into one file, if ``target`` ends in ``.html``, or into a new folder.

    Raises:
        UsageError: The folder is not empty, or the file would be too large.
        LogError: The page of this installation was not built.
    """
    if target.suffix.lower() in (".html", ".htm"):
        _write_file(contents, target, on_progress)
    else:
        _write_folder(contents, target, on_progress)


def _write_folder(contents: ExportContents, target: Path, on_progress: ProgressCallback) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{target} already exists; choose a new or empty directory")
    (target / "data").mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    exported = set()
    for number, (dashboard, url, response) in enumerate(contents.iter_parts()):
        files[url] = f"data/{dashboard}-{number}.js"
        exported.add(dashboard)
        _write_text(target / files[url], build_part_script(url, pack_response(response)))
        on_progress(1)
    _write_text(target / "data/board.js", build_head_script(contents.build_head(exported), files))
    for name in ("board.js", "board.css"):
        _write_text(target / name, read_asset(name))
    scripts = map(link_script, ("data/board.js", "board.js"))
    _write_text(target / "index.html", build_html(link_styles("board.css"), scripts))


def _write_file(contents: ExportContents, target: Path, on_progress: ProgressCallback) -> None:
    _write_text(target, build_page(contents, on_progress))


def build_page(contents: ExportContents, on_progress: ProgressCallback = lambda parts: None) -> str:
    """Return the HTML of an export in one file.

    Raises:
        UsageError: The file would be too large.
        LogError: The page of this installation was not built.
    """
    parts: list[str] = []
    exported = set()
    size_bytes = 0
    for dashboard, url, response in contents.iter_parts():
        parts.append(build_part_script(url, pack_response(response)))
        exported.add(dashboard)
        size_bytes += len(parts[-1])
        if size_bytes > _MAX_FILE_BYTES:
            raise UsageError(
                "export.too_large",
                "the export is larger than {max_mb} MB; export to a directory, or select fewer "
                "runs or tags",
                max_mb=_MAX_FILE_BYTES >> 20,
            )
        on_progress(1)
    head = build_head_script(contents.build_head(exported), {})
    styles = embed_styles(read_asset("board.css"))
    scripts = [head, *parts, read_asset("board.js")]
    return build_html(styles, map(embed_script, scripts))


def _write_text(path: Path, text: str) -> None:
    with open_output(str(path)) as file:
        file.write(text.encode())


# ---- the page


def read_asset(name: str, page_dir: Path = PAGE_DIR) -> str:
    """Read a file of the page that was built for static exports."""
    path = page_dir / "copy" / name
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise LogError(
            "export.page_not_built",
            "cannot export: the web page of this installation was not built; reinstall tracklight",
        ) from None


def build_html(styles: str, scripts: Iterable[str]) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<title>tracklight</title>\n'
        f"{styles}\n</head>\n<body>\n" + "\n".join(scripts) + "\n</body>\n</html>\n"
    )


def link_script(path: str) -> str:
    return f'<script src="{path}"></script>'


def link_styles(path: str) -> str:
    return f'<link rel="stylesheet" href="{path}">'


def embed_script(script: str) -> str:
    """Embed a script. What is escaped occurs only in its strings and regular expressions."""
    safe = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return f"<script>{safe}</script>"


def embed_styles(styles: str) -> str:
    safe = styles.replace("</style", "<\\/style")
    return f"<style>{safe}</style>"


# ---- data


class ExportedFile(msgspec.Struct):
    """A `Blob` in an export; the page turns it into a file again."""

    media_type: str
    content: NDArray[np.uint8]


def build_head_script(head: object, files: dict[str, str]) -> str:
    """Build the script that is loaded first; ``files`` has the file of each URL."""
    assignments = f"tracklight.files={escape_json(files)};tracklight.head={escape_json(head)};"
    return _BOOTSTRAP_SCRIPT + assignments


def build_part_script(url: str, packed: str) -> str:
    return f"tracklight.put({escape_json(url)},{escape_json(packed)});"


def pack_response(response: object) -> str:
    """Encode a response with its columns as deflated bytes in Base64."""
    level = _DEFLATE_LEVEL
    if isinstance(response, Blob):
        level = _DEFLATE_LEVEL if response.media_type.startswith("text/") else _STORE_LEVEL
        response = ExportedFile(response.media_type, np.frombuffer(response.content, np.uint8))
    compressor = zlib.compressobj(level, wbits=-15)
    data = compressor.compress(encode_columns(response)) + compressor.flush()
    return base64.b64encode(data).decode("ascii")


def escape_json(value: object) -> str:
    """Encode JSON that is safe in a script within HTML, whatever names it contains."""
    text = msgspec.json.encode(value).decode("utf-8")
    for character, escaped in _ESCAPES.items():
        text = text.replace(character, escaped)
    return text
