"""What users add to captures: notes at a time of the trace, and saved queries.

They are stored in a file beside the notes on the log, never in the log directory.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Annotated

import msgspec

from tracklight.analysis.profiles.sql import MAX_QUERY_LENGTH
from tracklight.dashboards.profile.schemas import CaptureRequest, RequestText, TimePs
from tracklight.errors import UsageError
from tracklight.util.files import JsonFile, get_notes_path

_MAX_NOTES = 500
_MAX_QUERIES = 200

NoteText = Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
QueryName = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
QueryText = Annotated[str, msgspec.Meta(max_length=MAX_QUERY_LENGTH)]


class TimeNote(msgspec.Struct):
    """A note at a time, in picoseconds since the start of the capture."""

    id: str
    time_ps: float
    text: str


class SavedQuery(msgspec.Struct):
    """A SQL query that was saved under a name, for all captures."""

    name: str
    sql: str


class TimeNotesResponse(msgspec.Struct):
    """The notes of a capture, by time."""

    notes: list[TimeNote]


class AddNoteRequest(CaptureRequest, kw_only=True):
    """A note to add to a capture."""

    time_ps: TimePs
    text: NoteText


class DeleteNoteRequest(CaptureRequest):
    """A note to delete."""

    id: RequestText = ""


class SavedQueriesResponse(msgspec.Struct):
    """All saved queries, by name."""

    queries: list[SavedQuery]


class SaveQueryRequest(msgspec.Struct):
    """A query to save under a name; null deletes it."""

    name: QueryName
    sql: QueryText | None = None


class ProfileNotes(msgspec.Struct):
    """The content of the file; notes by the id of the capture."""

    notes: dict[str, list[TimeNote]] = {}
    queries: list[SavedQuery] = []


class ProfileNoteStore:
    """Notes and saved queries of a log, shared by all servers of the log.

    Changes raise `SaveError` if the file cannot be read or written.
    """

    def __init__(self, roots: Iterable[str]) -> None:
        path = get_notes_path(roots).with_suffix(".profile.json")
        self._file: JsonFile[ProfileNotes] = JsonFile(path, ProfileNotes, ProfileNotes)

    def get_notes(self, capture: str) -> TimeNotesResponse:
        return TimeNotesResponse(self._file.read().notes.get(capture, []))

    def add_note(self, capture: str, time_ps: float, text: str) -> TimeNotesResponse:
        note = TimeNote(uuid.uuid4().hex[:12], time_ps, text)

        def add(before: ProfileNotes) -> ProfileNotes:
            notes = [*before.notes.get(capture, []), note]
            if len(notes) > _MAX_NOTES:
                raise UsageError(
                    "profile.too_many_notes",
                    "A capture can have {max_notes} notes. Delete one first",
                    max_notes=_MAX_NOTES,
                )
            notes.sort(key=lambda each: each.time_ps)
            return msgspec.structs.replace(before, notes={**before.notes, capture: notes})

        return TimeNotesResponse(self._file.update(add).notes[capture])

    def delete_note(self, capture: str, id: str) -> TimeNotesResponse:
        def delete(before: ProfileNotes) -> ProfileNotes:
            notes = [note for note in before.notes.get(capture, []) if note.id != id]
            return msgspec.structs.replace(before, notes={**before.notes, capture: notes})

        return TimeNotesResponse(self._file.update(delete).notes[capture])

    def get_queries(self) -> SavedQueriesResponse:
        return SavedQueriesResponse(self._file.read().queries)

    def save_query(self, name: str, sql: str | None) -> SavedQueriesResponse:
        """Save a query under a name, or delete it if it is None."""

        def save(before: ProfileNotes) -> ProfileNotes:
            queries = [query for query in before.queries if query.name != name]
            if sql is not None:
                queries.append(SavedQuery(name, sql))
            if len(queries) > _MAX_QUERIES:
                raise UsageError(
                    "profile.too_many_queries",
                    "At most {max_queries} queries can be saved. Delete one first",
                    max_queries=_MAX_QUERIES,
                )
            queries.sort(key=lambda query: query.name)
            return msgspec.structs.replace(before, queries=queries)

        return SavedQueriesResponse(self._file.update(save).queries)
