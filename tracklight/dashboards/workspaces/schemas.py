"""The documents, and requests and responses of the routes."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from tracklight.analysis.source import Sentence

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
