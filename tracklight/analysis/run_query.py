"""Queries that describe runs without naming them, for logs with very many runs."""

from __future__ import annotations

from typing import Annotated

import msgspec


class RunSelection(msgspec.Struct, forbid_unknown_fields=True):
    """Which of the runs that match a filter are selected: the newest ones, and exceptions.

    ``newest`` null selects all, and so does a filter that at most ``all_up_to`` runs match. ``on``
    and ``off`` name runs that are selected or not in any case. A name that begins with a slash is
    that of a group; runs take precedence over their group.
    """

    newest: Annotated[int, msgspec.Meta(ge=0)] | None = None
    all_up_to: Annotated[int, msgspec.Meta(ge=0)] = 0
    on: list[str] = []
    off: list[str] = []


class RunQuery(msgspec.Struct, forbid_unknown_fields=True):
    """Which runs, in which order and in which groups.

    ``filter`` is an expression such as ``state = running and lr < 0.1``. ``sort`` are keys of
    columns, the most important first, with a minus for descending order. ``group_by`` is the key of
    a column, ``path:N`` for part N of the names, counted from 1, or ``re:PATTERN`` for what a
    regular expression captures in them; empty for no groups.
    """

    filter: str = ""
    show_hidden: bool = False
    sort: Annotated[list[str], msgspec.Meta(max_length=8)] = []
    group_by: str = ""
    selection: RunSelection = msgspec.field(default_factory=RunSelection)


class GroupQuery(RunQuery):
    """The selected runs of one group, all if ``group`` is null.

    ``split`` is ``train``, ``validation``, ``evaluation``, ``test``, or empty for runs whose names
    do not say what they were computed on; null for all.
    """

    group: str | None = None
    split: str | None = None
