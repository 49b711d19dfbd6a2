"""Read members of zip archives of models, with limits on their sizes."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from typing import Any

from tracklight.errors import FormatError

#: A description of a model; weights have their own limit.
MAX_TEXT_BYTES = 256 << 20

_ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, EOFError, NotImplementedError)


class ModelArchive:
    """The members of an archive. PyTorch puts all of them below a folder, whose name varies.

    Raises:
        FormatError: The archive is damaged.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                self.names = archive.namelist()
        except _ZIP_ERRORS as error:
            raise _make_error(error) from None

    def find(self, suffix: str) -> str | None:
        """Return the first member at a path, with or without the folder above it."""
        exact = (name for name in self.names if name == suffix or name.endswith(f"/{suffix}"))
        return min(exact, key=len, default=None)

    def read(self, name: str, max_bytes: int = MAX_TEXT_BYTES) -> bytes:
        """Return the content of a member.

        Raises:
            FormatError: It does not exist, is damaged, or is larger than ``max_bytes``.
        """
        try:
            with zipfile.ZipFile(io.BytesIO(self.data)) as archive, archive.open(name) as file:
                content = file.read(max_bytes + 1)
        except (KeyError, *_ZIP_ERRORS) as error:
            raise _make_error(error) from None
        if len(content) > max_bytes:
            raise FormatError(
                "graphs.member_too_large",
                '"{name}" in the archive is larger than {size}',
                name=name,
                size=f"{max_bytes >> 20} MB",
            )
        return content

    def read_json(self, name: str) -> dict[str, Any]:
        """Return the content of a member that is a JSON object.

        Raises:
            FormatError: It is not one.
        """
        try:
            content = json.loads(self.read(name))
        except (ValueError, RecursionError) as error:
            raise FormatError(
                "graphs.member_not_json",
                '"{name}" in the archive is not JSON: {error}',
                name=name,
                error=error,
            ) from None
        if not isinstance(content, dict):
            raise FormatError(
                "graphs.member_not_object", '"{name}" in the archive has no model', name=name
            )
        return content


def _make_error(error: Exception) -> FormatError:
    return FormatError("graphs.damaged_archive", "the archive is damaged: {error}", error=error)
