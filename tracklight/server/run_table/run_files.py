"""The files in the directory of a run: a list, previews, and console logs."""

from __future__ import annotations

import posixpath
from typing import Annotated, Literal

import msgspec

from tracklight.analysis.console import ConsoleLine, parse_console
from tracklight.errors import LogError
from tracklight.logdir.access import ConfinedFiles, join_path, open_filesystem
from tracklight.logdir.discover import is_event_file, iter_ancestors
from tracklight.plugin import Blob
from tracklight.server.source import LogOverview, LogSource, to_valid_unicode

#: Further files of a run are only counted.
MAX_LISTED_FILES = 1000
MAX_PREVIEW_BYTES = 256 * 1024
#: The end of a longer console log is shown.
MAX_CONSOLE_BYTES = 4 << 20
MAX_CONSOLE_LINES = 10_000
MAX_DOWNLOAD_BYTES = 512 << 20

#: Folders deeper than this are not entered: a run directory may hold a whole data set.
_MAX_DEPTH = 5
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
            return relative.count("/") >= _MAX_DEPTH or prefix + relative in others

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
        if skipped:  # the first line is incomplete
            data = data.partition(b"\n")[2]
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
