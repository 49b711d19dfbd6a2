r"""The files in the directory of a run: a list, previews, and console logs.

`parse_console` applies carriage returns, backspaces and the escape sequences that move the cursor,
as a terminal would, so that a progress bar becomes one line in its last state. Escape sequences of
colors stay in the text.

Lines that `tracklight.run` captures begin with a time and a stream, as Kubernetes writes logs
(``2026-11-17T09:14:05.123456Z stdout F text``); lines of other programs have neither.
"""

from __future__ import annotations

import datetime
import posixpath
import re
from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

import msgspec

from tracklight.errors import LogError
from tracklight.logdir.access import ConfinedFiles, join_path, open_filesystem
from tracklight.logdir.discover import is_event_file, iter_ancestors
from tracklight.plugin import Blob
from tracklight.server.source import LogOverview, LogSource, to_valid_unicode

# ---- console logs

#: Longer lines are cut: a program may print a whole array.
MAX_LINE_CHARS = 5000

Stream = Literal["stdout", "stderr"]

_PREFIX = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) (stdout|stderr) [FP] ?"
)
#: The time at the start of a line of Python's logging, and of most other programs.
_LOGGED_TIME = re.compile(r"\[?(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?(Z)?")
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
#: Control Sequence Introducer, Operating System Command, and other escape sequences (ECMA-48).
_ESCAPE = re.compile(
    r"\x1b\[([0-9;?]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]|\x1b[ -/]*[0-~]"
)
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")
_FRACTION_DIGITS = 6


class ConsoleLine(NamedTuple):
    """A line, an array in JSON; ``time`` is in seconds since 1970, null if it is unknown."""

    time: float | None
    stream: Stream | None
    text: str


def parse_console(text: str) -> list[ConsoleLine]:
    """Return the lines of a console log.

    Example:
        >>> [line.text for line in parse_console("loading\\r 50%\\r100%\\ndone\\n")]
        ['100%', 'done']
    """
    lines: list[ConsoleLine] = []
    for raw in text.replace("\r\n", "\n").split("\n"):
        line = _parse_line(raw)
        up = _count_lines_up(line.text)
        # Several progress bars are drawn by moving the cursor up and writing the lines again.
        if up and lines:
            del lines[max(0, len(lines) - up) :]
        lines.append(ConsoleLine(line.time, line.stream, _render(line.text)))
    if lines and not lines[-1].text and not text.endswith("\n\n"):
        lines.pop()
    return lines


def _parse_line(raw: str) -> ConsoleLine:
    if match := _PREFIX.match(raw):
        stream: Stream = "stderr" if match[2] == "stderr" else "stdout"
        return ConsoleLine(_parse_time(match[1]), stream, raw[match.end() :])
    if match := _LOGGED_TIME.match(raw):
        fraction = f".{match[3].ljust(_FRACTION_DIGITS, '0')}" if match[3] else ""
        # Python's logging writes local time; without a zone, that of the server is assumed.
        zone = "+00:00" if match[4] else ""
        return ConsoleLine(_parse_time(f"{match[1]}T{match[2]}{fraction}{zone}"), None, raw)
    return ConsoleLine(None, None, raw)


def _parse_time(text: str) -> float | None:
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _count_lines_up(text: str) -> int:
    """Return how many lines above the sequences at the start of a line move the cursor."""
    count = 0
    for match in re.finditer(r"\x1b\[(\d*)A", text):
        count += int(match[1] or 1)
    return count


def _render(text: str) -> str:
    """Return a line as a terminal shows it in the end, with escape sequences of colors."""
    if "\r" not in text and "\b" not in text and "\x1b" not in text:
        return _UNPRINTABLE.sub("", text)[:MAX_LINE_CHARS]
    if "\b" not in text and "\x1b" not in text:
        shown = ""
        for part in text.split("\r"):
            shown = part + shown[len(part) :]
        return _UNPRINTABLE.sub("", shown)[:MAX_LINE_CHARS]
    cells: list[str] = []
    at = 0
    color = ""
    for kind, part in _iter_parts(text[: 20 * MAX_LINE_CHARS]):
        if kind == "color":
            color += part
        elif kind == "erase":
            if part in ("", "0"):
                del cells[at:]
            elif part == "2":
                cells.clear()
                at = 0
        elif part == "\r":
            at = 0
        elif part == "\b":
            at = max(0, at - 1)
        else:
            # A color belongs to the cell after it, so that overwriting the cell removes it.
            cells[at : at + 1] = [color + part]
            color = ""
            at += 1
    rendered = "".join(cells) + (color if cells else "")
    return rendered[:MAX_LINE_CHARS]


def _iter_parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield characters and the escape sequences that matter for one line."""
    at = 0
    while at < len(text):
        if text[at] == "\x1b":
            if match := _COLOR.match(text, at):
                yield "color", match[0]
            elif match := _ESCAPE.match(text, at):
                if match[2] == "K":
                    yield "erase", match[1]
                elif match[2] == "G":
                    yield "text", "\r"
            at = match.end() if match else at + 1
        elif text[at] in "\r\b" or not _UNPRINTABLE.match(text[at]):
            yield "text", text[at]
            at += 1
        else:
            at += 1


# ---- files

#: Further files of a run are only counted.
MAX_LISTED_FILES = 1000
MAX_PREVIEW_BYTES = 256 * 1024
#: The end of a longer console log is shown.
MAX_CONSOLE_BYTES = 4 << 20
MAX_CONSOLE_LINES = 10_000
MAX_DOWNLOAD_BYTES = 512 << 20

#: Folders deeper than this are not entered: a run directory may hold a whole data set.
_MAX_NESTED_FOLDERS = 5
_CONSOLE_SUFFIXES = (".log", ".out", ".err")
_SNIFFED_BYTES = 64

_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".avif")


class RunRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A run by name."""

    run: str


class RunFileRow(msgspec.Struct):
    """A file in the directory of a run; ``path`` is relative to it, ``mtime`` in seconds."""

    path: str
    bytes: int
    mtime: float
    content: Literal["events", "console", "image", "other"]


class RunFilesResponse(msgspec.Struct):
    """The files of a run, without those of runs below it; ``total`` counts all of them."""

    directory: str
    total: int
    files: list[RunFileRow]


class RunFileRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A file of a run, by its path relative to the directory of the run."""

    run: str
    path: str


class RunFilePreview(msgspec.Struct):
    """The beginning of a file: ``text`` is null if it is not UTF-8 text."""

    path: str
    bytes: int
    media_type: str
    text: str | None
    is_truncated: bool


class ConsoleRequest(RunFileRequest):
    """A console log; ``lines`` limits the result to the last ones."""

    lines: Annotated[int, msgspec.Meta(ge=1, le=MAX_CONSOLE_LINES)] = 2000


class ConsoleResponse(msgspec.Struct):
    """The last lines of a console log. ``total`` counts the lines of the part that was read.

    Progress bars are reduced to their last state. Texts keep escape sequences of colors.
    """

    path: str
    bytes: int
    total: int
    is_truncated: bool
    lines: list[ConsoleLine]


class RunFiles:
    """Lists and reads the files of runs. Nothing outside the log directories is read."""

    def __init__(self, source: LogSource, overview: LogOverview) -> None:
        self._source = source
        self._overview = overview
        self._files = ConfinedFiles([root.path for root in source.roots])

    def list_files(self, request: RunRequest) -> RunFilesResponse:
        """Return the files in the directory of a run, without those of runs below it."""
        run = request.run
        directory = self._find_directory(run)
        if directory is None:
            return RunFilesResponse("", 0, [])
        self._files.check_path(directory)
        fs, path = open_filesystem(directory)
        others = self._list_directories_of_other_runs(run)
        prefix = "" if run == "." else f"{run.removesuffix('/.')}/"

        def is_excluded(relative: str) -> bool:
            return relative.count("/") >= _MAX_NESTED_FOLDERS or prefix + relative in others

        listing = fs.list_files(path, lambda name: True, is_excluded)
        rows = [
            RunFileRow(
                path=to_valid_unicode(posixpath.join(file.directory, file.name)),
                bytes=file.stat.size,
                mtime=file.stat.mtime_ns / 1e9,
                content=_guess_content(file.name),
            )
            for file in listing.files
        ]
        rows.sort(key=lambda row: row.path)
        return RunFilesResponse(to_valid_unicode(directory), len(rows), rows[:MAX_LISTED_FILES])

    def preview(self, request: RunFileRequest) -> RunFilePreview:
        """Return the beginning of a file of a run as text, if it is text."""
        path, size = self._locate(request)
        from tracklight.formats.media import UNKNOWN_MEDIA_TYPE, sniff_media_type

        with self._files.open(path) as file:
            data = file.read(MAX_PREVIEW_BYTES)
        media_type = sniff_media_type(data[:_SNIFFED_BYTES])
        text = None if media_type != UNKNOWN_MEDIA_TYPE else decode_text_file(data)
        return RunFilePreview(request.path, size, media_type, text, len(data) < size)

    def read(self, request: RunFileRequest) -> Blob:
        """Return a file of a run: images to show, everything else to save."""
        path, size = self._locate(request)
        if size > MAX_DOWNLOAD_BYTES:
            raise LogError(
                "runs.file_too_large",
                '"{path}" has more than {limit} MB; copy it from the log directory',
                path=request.path,
                limit=MAX_DOWNLOAD_BYTES >> 20,
            )
        from tracklight.formats.media import UNKNOWN_MEDIA_TYPE, sniff_media_type

        with self._files.open(path) as file:
            data = file.read()
        media_type = sniff_media_type(data[:_SNIFFED_BYTES])
        name = posixpath.basename(request.path)
        return Blob(data, media_type, name if media_type == UNKNOWN_MEDIA_TYPE else None)

    def read_console(self, request: ConsoleRequest) -> ConsoleResponse:
        """Return the last lines of a console log, with progress bars collapsed."""
        path, size = self._locate(request)
        skipped = max(0, size - MAX_CONSOLE_BYTES)
        with self._files.open(path) as file:
            file.seek(skipped)
            data = file.read(MAX_CONSOLE_BYTES)
        if skipped:  # the first line, or the first state of a progress bar, is incomplete
            data = data.partition(b"\n" if b"\n" in data else b"\r")[2]
        lines = parse_console(data.decode("utf-8", "replace"))
        shown = lines[-request.lines :]
        is_truncated = bool(skipped) or len(shown) < len(lines)
        return ConsoleResponse(request.path, size, len(lines), is_truncated, shown)

    def _locate(self, request: RunFileRequest) -> tuple[str, int]:
        """Return the path and size of a file of a run.

        Raises:
            LogError: There is no such file, or it is outside the log directories.
        """
        directory = self._find_directory(request.run)
        parts = request.path.split("/")
        if directory is not None and request.path and not {"", ".", ".."} & {*parts}:
            path = join_path(directory, request.path)
            size = self._files.find_size(path)
            if size is not None:
                return path, size
        raise LogError(
            "runs.no_file",
            'the run "{run}" has no file "{path}"',
            run=request.run,
            path=request.path,
        )

    def _find_directory(self, run: str) -> str | None:
        """Return the directory of a run; None if it has no event files.

        Raises:
            RunNotFoundError: There is no such run.
        """
        files = self._source.files(run)
        return posixpath.dirname(files[0].path.replace("\\", "/")) if files else None

    def _list_directories_of_other_runs(self, run: str) -> set[str]:
        """Return the names of all other runs and of the directories above them, but not of this."""
        own = {*iter_ancestors(run)}
        names = {name for other in self._overview.runs() for name in iter_ancestors(other)}
        return names - own


def decode_text_file(data: bytes) -> str | None:
    """Return UTF-8 text, which may be cut within a character; None for anything else."""
    if b"\0" in data:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        if error.end == len(data) and error.reason == "unexpected end of data":
            return data[: error.start].decode()
        return None


def _guess_content(name: str) -> Literal["events", "console", "image", "other"]:
    lower = name.lower()
    if is_event_file(name):
        return "events"
    if lower.endswith(_CONSOLE_SUFFIXES):
        return "console"
    return "image" if lower.endswith(_IMAGE_SUFFIXES) else "other"
