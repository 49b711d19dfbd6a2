"""The documents of a log and their versions, in files beside the notes on the log.

All servers of the log share the files. Versions are in a file of their own: they are much larger
than the documents and change less often.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import msgspec

from tracklight.dashboards.workspaces.schemas import (
    MAX_DOCUMENTS,
    MAX_VERSIONS,
    BoardDocument,
    StoredDocument,
)
from tracklight.errors import ConflictError, LogError, UsageError
from tracklight.util.files import JsonFile, get_notes_path

#: Documents are saved after every change; a version is kept at most this often.
VERSION_INTERVAL_S = 300.0


class DocumentsFile(msgspec.Struct, frozen=True):
    """The content of the file with the current documents, by id."""

    documents: dict[str, StoredDocument] = {}
    default: str | None = None


VersionsFile = dict[str, tuple[StoredDocument, ...]]


class DocumentStore:
    """Workspaces and reports of a log.

    Changes raise `SaveError` if a file cannot be read or written.

    Args:
        roots: The log directories.
        clock: Returns the time in seconds.
    """

    def __init__(self, roots: Iterable[str], clock: Callable[[], float] = time.time) -> None:
        path = get_notes_path(roots)
        self._file = JsonFile(path.with_suffix(".workspaces.json"), DocumentsFile, DocumentsFile)
        self._versions: JsonFile[VersionsFile] = JsonFile(
            path.with_suffix(".versions.json"), VersionsFile, dict
        )
        self._clock = clock

    def read(self) -> DocumentsFile:
        return self._file.read()

    def get_revision(self) -> str:
        """Return a text that changes with every change of a document, also by other servers."""
        return self._file.get_revision()

    def get(self, id: str) -> StoredDocument:
        """Return a document.

        Raises:
            LogError: It does not exist.
        """
        stored = self.read().documents.get(id)
        if stored is None:
            raise _make_missing_error(id)
        return stored

    def save(
        self, document: BoardDocument, expected: int, keep_version: bool = False
    ) -> StoredDocument:
        """Save a document if ``expected`` is its stored revision, which is 0 for a new one.

        Raises:
            ConflictError: Another revision is stored.
            UsageError: There are too many documents.
        """

        def save(before: DocumentsFile) -> DocumentsFile:
            stored = before.documents.get(document.id)
            if stored is not None and stored.document == document:
                return before  # two users who make the same change are not in conflict
            _check_revision(document.name, stored, expected)
            if stored is not None:
                # Kept first: a version too many does no harm, a lost one does.
                self._add_version(stored, keep_version)
            changed = StoredDocument(document, expected + 1, self._clock())
            documents = {**before.documents, document.id: changed}
            if len(documents) > MAX_DOCUMENTS:
                raise UsageError(
                    "workspaces.too_many_documents",
                    "there are already {max_documents} workspaces and reports: delete one first",
                    max_documents=MAX_DOCUMENTS,
                )
            return msgspec.structs.replace(before, documents=documents)

        return self._file.update(save).documents[document.id]

    def delete(self, id: str, expected: int) -> None:
        """Delete a document; its versions stay until another document has the same id.

        Raises:
            ConflictError: Another revision is stored.
            LogError: It does not exist.
        """

        def delete(before: DocumentsFile) -> DocumentsFile:
            stored = before.documents.get(id)
            if stored is None:
                raise _make_missing_error(id)
            _check_revision(stored.document.name, stored, expected)
            self._add_version(stored, keep_version=True)
            documents = {key: each for key, each in before.documents.items() if key != id}
            default = None if before.default == id else before.default
            return DocumentsFile(documents, default)

        self._file.update(delete)

    def set_default(self, id: str | None) -> None:
        """Set the workspace that is opened first.

        Raises:
            LogError: It does not exist.
        """

        def set_default(before: DocumentsFile) -> DocumentsFile:
            if id is not None and id not in before.documents:
                raise _make_missing_error(id)
            return msgspec.structs.replace(before, default=id)

        self._file.update(set_default)

    def list_versions(self, id: str) -> list[StoredDocument]:
        """Return the earlier states of a document, newest first."""
        return list(reversed(self._versions.read().get(id, ())))

    def get_version(self, id: str, revision: int) -> StoredDocument:
        """Return an earlier state of a document.

        Raises:
            LogError: It is not stored.
        """
        for version in self.list_versions(id):
            if version.revision == revision:
                return version
        raise LogError(
            "workspaces.no_version",
            "version {revision} is no longer stored",
            revision=revision,
        )

    def _add_version(self, stored: StoredDocument, keep_version: bool) -> None:
        def add(before: VersionsFile) -> VersionsFile:
            versions = before.get(stored.document.id, ())
            return {**before, stored.document.id: (*versions, stored)[-MAX_VERSIONS:]}

        last = self._versions.read().get(stored.document.id, ())[-1:]
        is_due = not last or stored.modified - last[0].modified >= VERSION_INTERVAL_S
        if keep_version or is_due:
            self._versions.update(add)


def _check_revision(name: str, stored: StoredDocument | None, expected: int) -> None:
    if (stored.revision if stored else 0) != expected:
        raise ConflictError(
            "workspaces.conflict",
            'someone else has changed "{name}" meanwhile',
            name=stored.document.name if stored else name,
        )


def _make_missing_error(id: str) -> LogError:
    return LogError(
        "workspaces.no_document", 'there is no workspace or report with the id "{id}"', id=id
    )
