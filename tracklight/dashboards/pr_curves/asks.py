"""What the page asks of the PR curves dashboard."""

from __future__ import annotations

from typing import Annotated

import msgspec

Tags = Annotated[list[str], msgspec.Meta(max_length=500)]


class CurvesAsk(msgspec.Struct, forbid_unknown_fields=True):
    """The curves of some tags; ``runs`` null stands for all runs that have them.

    Of each run the last curve at or before ``step``; null asks for the last of all.
    """

    tags: Tags
    runs: list[str] | None = None
    step: int | None = None


class HistoryAsk(msgspec.Struct, forbid_unknown_fields=True):
    """The curves of some tags over all steps, each in a few numbers."""

    tags: Tags
    runs: list[str] | None = None
