"""Workspaces and reports: documents with cards of all dashboards, stored beside the log.

`Workspaces` declares the routes, and `DocumentStore` has the documents and their versions. The
server does not know the kinds of cards, except for notes, whose Markdown it renders: the page draws
them.

All servers of a log share its files. Versions are in a file of their own: they are much larger than
the documents and change less often.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Literal

import msgspec

from tracklight.analysis.media import render_markdown, start_deadline
from tracklight.analysis.media.time_limits import Deadline
from tracklight.analysis.source import Sentence
from tracklight.errors import ConflictError, LogError, UsageError
from tracklight.plugin import Context, Dashboard, Empty, Route
from tracklight.util.files import JsonFile, get_notes_path

# ---- documents

MAX_DOCUMENTS = 200
MAX_VERSIONS = 50
_MAX_CARDS = 500
_MAX_SECTIONS = 200

_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9_-]+$")]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Title = Annotated[str, msgspec.Meta(max_length=500)]
_Target = Annotated[str, msgspec.Meta(max_length=10_000)]
_Kind = Annotated[str, msgspec.Meta(min_length=1, max_length=40)]
_SettingText = Annotated[str, msgspec.Meta(max_length=10_000)]
_Settings = Annotated[
    dict[Annotated[str, msgspec.Meta(max_length=100)], _SettingText], msgspec.Meta(max_length=200)
]
_MarkdownText = Annotated[str, msgspec.Meta(max_length=200_000)]

DocumentKind = Literal["workspace", "report"]


class BoardCard(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A card of a dashboard on a workspace or in a report."""

    id: _Id
    kind: _Kind
    """The dashboard that the card belongs to, as ``scalars``."""
    target: _Target = ""
    """What it shows: the id of the card in its dashboard, mostly a tag; or Markdown."""
    title: _Title = ""
    """Empty for the title that the card has in its dashboard."""
    settings: _Settings = {}
    """Settings of its dashboard, as URL parameters; others are those of the document."""
    runs: Annotated[tuple[str, ...], msgspec.Meta(max_length=1000)] | None = None
    """The runs that it always shows; null for those selected in the page."""
    columns: Annotated[int, msgspec.Meta(ge=1, le=12)] = 4
    """The width, in twelfths of the board."""
    height: Annotated[int, msgspec.Meta(ge=80, le=2000)] = 280
    """In pixels."""


class BoardSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Cards below a heading."""

    id: _Id
    title: _Title = ""
    collapsed: bool = False
    cards: Annotated[tuple[BoardCard, ...], msgspec.Meta(max_length=_MAX_CARDS)] = ()


class BoardDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A workspace, or a report: Markdown in which ``![[id]]`` is replaced by a card."""

    id: _Id
    kind: DocumentKind
    name: _Name
    text: _MarkdownText = ""
    """The Markdown of a report."""
    sections: Annotated[tuple[BoardSection, ...], msgspec.Meta(max_length=_MAX_SECTIONS)] = ()
    settings: Annotated[dict[_Kind, _Settings], msgspec.Meta(max_length=100)] = {}
    """Settings of all cards of a kind."""


class StoredDocument(msgspec.Struct, frozen=True):
    """A state of a document; ``revision`` grows with every change of it."""

    document: BoardDocument
    revision: int
    modified: float


class ReportBlock(msgspec.Struct):
    """A part of a report: HTML, or a card. ``note`` says why a text is shown as it is."""

    html: str | None = None
    text: str | None = None
    card: str | None = None
    note: Sentence | None = None


# ---- requests and responses


class DocumentRow(msgspec.Struct):
    """A document in the list."""

    id: str
    kind: DocumentKind
    name: str
    revision: int
    modified: float
    cards: int


class DocumentListResponse(msgspec.Struct):
    """All documents by name, and the id of the workspace that is opened first."""

    documents: list[DocumentRow]
    default: str | None


class DocumentRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The document to read."""

    id: _Id


class DocumentResponse(msgspec.Struct):
    """A document, the blocks of its text, and those of its cards with texts by card id."""

    document: BoardDocument
    revision: int
    modified: float
    blocks: list[ReportBlock]
    notes: dict[str, list[ReportBlock]]


class SaveDocumentRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A document to save.

    ``expected`` is the revision that the change was made to, 0 for a new document. If another one
    is stored, nothing is changed, and the response is an error with status 409. The stored state
    becomes a version if the last version is older than a few minutes, or with ``keep_version``.
    """

    document: BoardDocument
    expected: int = 0
    keep_version: bool = False


class DeleteDocumentRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The document to delete, and the revision that is assumed to be stored."""

    id: _Id
    expected: int


class DefaultRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The workspace that is opened first; null for none."""

    id: _Id | None = None


class RenderRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Markdown of a report."""

    text: _MarkdownText


class RenderResponse(msgspec.Struct):
    """The blocks of a text, in their order."""

    blocks: list[ReportBlock]


class DocumentVersionRow(msgspec.Struct):
    """An earlier state of a document in the list."""

    revision: int
    modified: float
    name: str
    cards: int
    characters: int


class VersionListResponse(msgspec.Struct):
    """The versions of a document, newest first."""

    versions: list[DocumentVersionRow]


class VersionRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The version of a document to read."""

    id: _Id
    revision: int


def count_cards(document: BoardDocument) -> int:
    return sum(len(section.cards) for section in document.sections)


# ---- storage

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
            documents = {key: item for key, item in before.documents.items() if key != id}
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


# ---- the dashboard

#: Cards whose target is Markdown.
_NOTE_KIND = "note"
#: A line with nothing but a card. Fenced code blocks are matched first, to skip them.
_CARD_LINE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*?\n)??(?P=fence)[^\n]*$"
    r"|^!\[\[(?P<card>[A-Za-z0-9_-]{1,40})\]\][ \t]*$",
    re.MULTILINE | re.DOTALL,
)


class Workspaces(Dashboard):
    """Boards that mix cards of all dashboards, and reports with such cards."""

    name = "workspaces"
    title = "Workspace"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._store = DocumentStore(root.path for root in context.log.roots)

    def routes(self) -> Sequence[Route]:
        return [
            Route("documents", Empty, self.list_documents, "GET"),
            Route("document", SaveDocumentRequest, self.save_document, "PUT", mutates=True),
            Route("document", DocumentRequest, self.read_document, "GET"),
            Route("default", DefaultRequest, self.set_default, "PUT", mutates=True),
            Route("document", DeleteDocumentRequest, self.delete_document, "DELETE", mutates=True),
            Route("versions", DocumentRequest, self.list_versions, "GET"),
            Route("version", VersionRequest, self.read_version, "GET"),
            Route("render", RenderRequest, self.render),
        ]

    def get_revision(self) -> str:
        return self._store.get_revision()

    def list_documents(self, _: Empty) -> DocumentListResponse:
        """Return all workspaces and reports, by name."""
        content = self._store.read()
        rows = [
            DocumentRow(
                id=id,
                kind=stored.document.kind,
                name=stored.document.name,
                revision=stored.revision,
                modified=stored.modified,
                cards=count_cards(stored.document),
            )
            for id, stored in content.documents.items()
        ]
        rows.sort(key=lambda row: (row.kind != "workspace", row.name.casefold(), row.id))
        return DocumentListResponse(rows, content.default)

    def read_document(self, request: DocumentRequest) -> DocumentResponse:
        """Return a workspace or report."""
        return _create_response(self._store.get(request.id))

    def save_document(self, request: SaveDocumentRequest) -> DocumentResponse:
        """Save a workspace or report.

        Status 409 means that another revision than the expected one is stored; nothing was changed
        then.
        """
        saved = self._store.save(request.document, request.expected, request.keep_version)
        return _create_response(saved)

    def delete_document(self, request: DeleteDocumentRequest) -> DocumentListResponse:
        """Delete a workspace or report and return the others."""
        self._store.delete(request.id, request.expected)
        return self.list_documents(Empty())

    def set_default(self, request: DefaultRequest) -> DocumentListResponse:
        """Set the workspace that is opened first and return all documents."""
        self._store.set_default(request.id)
        return self.list_documents(Empty())

    def list_versions(self, request: DocumentRequest) -> VersionListResponse:
        """Return the earlier states of a document, newest first."""
        return VersionListResponse(
            [
                DocumentVersionRow(
                    revision=version.revision,
                    modified=version.modified,
                    name=version.document.name,
                    cards=count_cards(version.document),
                    characters=len(version.document.text),
                )
                for version in self._store.list_versions(request.id)
            ]
        )

    def read_version(self, request: VersionRequest) -> DocumentResponse:
        """Return an earlier state of a document."""
        return _create_response(self._store.get_version(request.id, request.revision))

    def render(self, request: RenderRequest) -> RenderResponse:
        """Return the text of a report as HTML and cards."""
        return RenderResponse(split_blocks(request.text))

    def export_static(self, runs: Sequence[str]) -> Iterator[tuple[str, object]]:
        view = self.context.view
        if view.get("tab", self.name) != self.name:
            return  # documents are not part of a view of another dashboard
        response = self.list_documents(Empty())
        shown = view.get("workspace")
        rows = [row for row in response.documents if shown in (None, row.id)]
        if rows:
            yield "documents", DocumentListResponse(rows, response.default)
        for row in rows:
            yield f"document?id={row.id}", self.read_document(DocumentRequest(row.id))


def _create_response(stored: StoredDocument) -> DocumentResponse:
    deadline = start_deadline()
    document = stored.document
    return DocumentResponse(
        document=document,
        revision=stored.revision,
        modified=stored.modified,
        blocks=split_blocks(document.text, deadline),
        notes={
            card.id: split_blocks(card.target, deadline)
            for section in document.sections
            for card in section.cards
            if card.kind == _NOTE_KIND
        },
    )


def split_blocks(text: str, deadline: Deadline | None = None) -> list[ReportBlock]:
    """Split Markdown at the lines ``![[id]]`` and render the parts between them."""
    deadline = start_deadline() if deadline is None else deadline
    blocks: list[ReportBlock] = []
    start = 0

    def add_text(part: str) -> None:
        if not part.strip():
            return
        rendered = render_markdown(part, deadline)
        note = None if rendered.note is None else Sentence.make(rendered.note)
        plain = part if rendered.html is None else None
        blocks.append(ReportBlock(html=rendered.html, text=plain, note=note))

    for match in _CARD_LINE.finditer(text):
        if match["card"]:
            add_text(text[start : match.start()])
            blocks.append(ReportBlock(card=match["card"]))
            start = match.end()
    add_text(text[start:])
    return blocks
