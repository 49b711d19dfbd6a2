"""Captures that a user uploaded, in temporary files.

The readers of captures need files. They are deleted when too many others have been uploaded, and
when the server stops.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections import OrderedDict
from pathlib import Path

from tracklight.errors import FormatError
from tracklight.logdir.discover import is_capture, iter_captures
from tracklight.logdir.filesystem import FileStat, ListedFile
from tracklight.types import CaptureFile

#: The run of uploaded captures, which no run of a log has.
UPLOAD_RUN = ""
MAX_UPLOAD_BYTES = 512 << 20
_MAX_UPLOADS = 8
#: Files with these suffixes are opened whatever their name.
_SUFFIXES = (".json", ".json.gz", ".pickle", ".pkl")


class CaptureUploads:
    """The uploaded captures by id. May be used from any thread."""

    def __init__(self) -> None:
        self._folder = ""
        self._files: OrderedDict[str, CaptureFile] = OrderedDict()
        self._lock = threading.Lock()

    def list_files(self) -> dict[str, CaptureFile]:
        """Return the uploaded captures by id, oldest first."""
        with self._lock:
            return dict(self._files)

    def find_path(self, file: CaptureFile) -> Path | None:
        """Return the path of an uploaded capture; None if it belongs to the log."""
        return Path(file.path) if file.run == UPLOAD_RUN else None

    def add(self, name: str, content: bytes) -> str:
        """Keep a capture, and return its id.

        Raises:
            FormatError: The name is not that of a capture.
        """
        name = name.replace("\\", "/").rpartition("/")[2]
        if not is_capture(name) and not name.endswith(_SUFFIXES):
            raise FormatError(
                "profile.upload_unknown",
                '"{name}" is not a capture. Captures are *.xplane.pb, *.json, *.json.gz, '
                "*.prof and *.pickle",
                name=name,
            )
        id = f"upload-{secrets.token_hex(8)}"
        with self._lock:
            if not self._folder:
                self._folder = tempfile.mkdtemp(prefix="tracklight-captures-")
                weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
            # The name of a file is chosen by the client, so that it is not used for the path.
            suffix = next(s for s in (".xplane.pb", ".json.gz", ".json", "") if name.endswith(s))
            path = Path(self._folder, f"{id}{suffix}")
            path.write_bytes(content)
            self._files[id] = _make_file(name, path, len(content))
            while len(self._files) > _MAX_UPLOADS:
                self._delete(next(iter(self._files)))
        return id

    def remove(self, id: str) -> None:
        """Delete a capture that cannot be read."""
        with self._lock:
            self._delete(id)

    def _delete(self, id: str) -> None:
        file = self._files.pop(id, None)
        if file is not None:
            Path(file.path).unlink(missing_ok=True)


def _make_file(name: str, path: Path, size: int) -> CaptureFile:
    stat = FileStat(size, time.time_ns(), path.name)
    (capture,) = iter_captures([ListedFile("", name, str(path), stat)], opened_file=name)
    return CaptureFile(
        run=UPLOAD_RUN,
        session=capture.session,
        host=capture.host,
        kind=capture.kind,
        path=str(path),
        bytes=size,
        mtime_s=stat.mtime_ns / 1e9,
        version=repr(stat),
    )
