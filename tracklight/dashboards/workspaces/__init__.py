"""Workspaces and reports: documents with cards of all dashboards, stored beside the log.

`Workspaces` declares the routes, and `store` has the documents and their versions. The server does
not know the kinds of cards, except for notes, whose Markdown it renders: the page draws them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tracklight.analysis.media.markdown import render_markdown, start_deadline
from tracklight.analysis.media.time_limits import Deadline
from tracklight.analysis.source import Sentence
from tracklight.dashboards.workspaces.schemas import (
    DefaultRequest,
    DeleteDocumentRequest,
    DocumentListResponse,
    DocumentRequest,
    DocumentResponse,
    DocumentRow,
    DocumentVersionRow,
    RenderRequest,
    RenderResponse,
    ReportBlock,
    SaveDocumentRequest,
    StoredDocument,
    VersionListResponse,
    VersionRequest,
    count_cards,
)
from tracklight.dashboards.workspaces.store import DocumentStore
from tracklight.plugin import Context, Dashboard, Empty, Route

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
