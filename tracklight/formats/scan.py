"""The door to the scanner: one pass over an event file's bytes gives columns.

The compiled kernel is used where it was built; otherwise a plain-Python scanner does the same work
slowly and says so once. Both follow the protocol below and are held against each other by tests.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Protocol

from tracklight.formats.batch import Batch, Found


class Scanner(Protocol):
    """Reads one event file piece by piece, in order.

    The caller hands over the bytes that stand at `position` and repeats while `position` moves.
    A record that is not complete in ``data`` is left for the next call. A record that can never be
    complete (its checksum fails, or good records follow before its end) is damage: the scanner
    remembers where it lost the thread (`lost_at`), looks for the next good record, and reports
    what it passed over. Until a good record is found, `position` is how far it has looked.
    """

    position: int
    """Offset in the file of the next byte to look at."""

    lost_at: int
    """Where unreadable bytes began for which no good record was found yet; else -1."""

    torn_end: int
    """While lost in a record whose header was good: where it would end; else -1."""

    def __init__(
        self, tags: Sequence[bytes] = (), described: Iterable[int] = (), position: int = 0
    ) -> None:
        """Go on at ``position`` of a file with these ``tags``, the ``described`` with metadata."""

    def scan(self, data: bytes | bytearray | memoryview, size: int) -> Batch:
        """Take the bytes at `position` of a file of ``size`` bytes; move `position`.

        Ends early before a SessionLog.START (which then opens the next batch) and at a record of
        LARGE_RECORD bytes or more that is not wholly in ``data`` (``batch.large``).
        """

    def accept(self, found: Sequence[Found], end: int) -> Batch:
        """Take what a walk over the large record at `position` found, and move to ``end``."""

    def reject(self, end: int) -> Batch:
        """Report the large record at `position` as no event (Flaw.PROTO) and move to ``end``."""

    def rewind(self, size: int) -> None:
        """The file changed to ``size`` bytes: look again at `lost_at` if it may read well now."""


def create_scanner(
    tags: Sequence[bytes] = (), described: Iterable[int] = (), position: int = 0
) -> Scanner:
    """Make the fastest scanner that this installation has."""
    try:
        from tracklight.formats import _scan
    except ImportError:
        _say_once()
        from tracklight.formats import scan_python

        return scan_python.Scanner(tags, described, position)
    return _scan.Scanner(tags, described, position)


def _say_once() -> None:
    warnings.warn(
        "tracklight was installed without its compiled kernel, so reading is hundreds of "
        "times slower; install a C compiler and run: pip install --force-reinstall tracklight",
        RuntimeWarning,
        stacklevel=3,
    )
