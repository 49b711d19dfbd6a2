"""Arguments of the Keras callbacks. Does not import Keras, so it is tested without a framework."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tracklight.writer.warnings import ArgumentError, warn_or_raise

_PROFILE_BATCH_FORM = "must be a batch number, a pair [first, last], or 0"


class BatchRange(NamedTuple):
    """A range of batches, inclusive, counted from 1 over all epochs."""

    first: int
    last: int


def as_update_freq(value: Any) -> int | None:
    """Return the number of batches between two logs; None for once per epoch."""
    if value == "epoch":
        return None
    if value == "batch":
        return 1
    interval = _find_int(value)
    if interval is None or interval < 1:
        warn_or_raise(
            "update_freq", f"must be 'epoch', 'batch' or a positive int, not {value!r:.100}"
        )
        return None
    return interval


def as_epoch_interval(value: Any, argument: str) -> int:
    """Return the number of epochs between two logs; 0 for never."""
    interval = _find_int(0 if value is None else value)
    if interval is None or interval < 0:
        warn_or_raise(argument, f"must be a number of epochs, or 0 for never, not {value!r:.100}")
        return 0
    return interval


def parse_profile_batch(value: Any) -> BatchRange | None:
    """Return the batches to profile for ``5``, ``[10, 20]`` or ``"10,20"``; None for 0."""
    parts = value.split(",") if isinstance(value, str) else value
    if parts is None:
        return None
    if not isinstance(parts, (list, tuple)):
        parts = [parts]
    ends = [_find_int(part) for part in parts]
    first, last = ends[0] if ends else None, ends[-1] if ends else None
    if len(ends) > 2 or first is None or last is None or first < 0 or last < first:
        warn_or_raise("profile_batch", f"{_PROFILE_BATCH_FORM}, not {value!r:.100}")
        return None
    return BatchRange(first, last) if last else None


def as_embeddings_metadata(value: Any) -> str | dict[str, str]:
    """Return a metadata file for all embeddings, or files by layer name."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return {str(name): str(path) for name, path in value.items()}
    if isinstance(value, (list, set, bytes)):
        raise ArgumentError(
            "embeddings_metadata", "must be a file name, or a dict of file names by layer"
        )
    return str(value)


def _find_int(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError):
        return None
    return number if isinstance(value, str) or number == value else None
