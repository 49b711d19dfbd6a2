"""Where a program logs to, at which step, and whether it does so now."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tracklight.sdk import lenient
from tracklight.sdk.setting import Setting
from tracklight.sdk.writer import EventWriter

Condition: TypeAlias = bool | Callable[[], object]

writer: Setting[EventWriter | None] = Setting("tracklight_writer", None)
step: Setting[object] = Setting("tracklight_step", None)
condition: Setting[Condition] = Setting("tracklight_condition", True)


def find_active_writer() -> EventWriter | None:
    """The default writer, if there is one and what is logged now is to be recorded."""
    active = writer.get()
    # Most programs have no condition, and looking for one takes as long as encoding a scalar.
    if active is None or not condition.was_set:
        return active
    # A condition may raise, or be a symbolic tensor that has no value yet.
    with lenient.guard("record_if", strict=active.strict):
        wanted = condition.get()
        return active if _is_true(wanted() if callable(wanted) else wanted) else None
    return None


def _is_true(wanted: object) -> bool:
    try:
        return bool(wanted)
    except TypeError:
        raise lenient.Misuse("condition", "is a symbolic tensor, which has no value here") from None
