"""The scanner in plain Python: what says how it is meant, and what is used without a compiler."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.formats.batch import LARGE_RECORD, Batch, Damage, Flaw, Found, Large
from tracklight.formats.collect import Collector, Series
from tracklight.formats.crc32c import masked_crc32c
from tracklight.formats.dissect import dissect
from tracklight.formats.resync import iter_headers
from tracklight.formats.tfrecord import FRAME_BYTES, HEADER_BYTES

#: How far a zero-filled tail is searched before it counts as never to be filled in.
_REWIND_BYTES = 16 * 1024 * 1024

#: How much may be read for a checksum that comes out wrong, beside a multiple of what was read in
#: all, before only short records are looked for. It keeps a file made of headers whose payloads
#: overlap from taking hours.
_VAIN_BYTES = 64 * 1024 * 1024
_VAIN_SHARE = 16
_SHORT_RECORD = 1024

#: Ends beyond this are absurd; they are cut to stay 64-bit numbers.
_FAR = (1 << 62) + FRAME_BYTES


class _Piece(NamedTuple):
    """Some bytes of a file of ``size`` bytes, from offset ``base`` on."""

    data: memoryview
    base: int
    size: int

    def take(self, offset: int, count: int) -> memoryview:
        return self.data[offset - self.base : offset - self.base + count]

    def holds(self, offset: int, count: int) -> bool:
        """Whether those bytes are in hand, and in the file as it was measured."""
        return offset + count <= min(self.base + len(self.data), self.size)

    def find_length(self, offset: int) -> int | None:
        """The length a header gives, or None when its checksum is wrong."""
        header = self.take(offset, HEADER_BYTES)
        if masked_crc32c(header[:8]) != int.from_bytes(header[8:], "little"):
            return None
        return int.from_bytes(header[:8], "little")

    def find_payload(self, offset: int, length: int) -> memoryview | None:
        """The payload of a record in hand, or None when its checksum is wrong."""
        payload = self.take(offset + HEADER_BYTES, length)
        crc = int.from_bytes(self.take(offset + HEADER_BYTES + length, 4), "little")
        return payload if masked_crc32c(payload) == crc else None


class Scanner:
    """See `tracklight.formats.scan.Scanner`."""

    def __init__(
        self, tags: Sequence[bytes] = (), described: Iterable[int] = (), position: int = 0
    ) -> None:
        self.position = position
        self.lost_at = -1
        self.torn_end = -1
        self._lost_flaw = Flaw.HEADER
        self._lost_in_zeros = False
        self._vain_bytes = 0
        self._series = Series(tags, described)

    def scan(self, data: bytes | bytearray | memoryview, size: int) -> Batch:
        piece = _Piece(memoryview(data).cast("B"), self.position, size)
        batch = Collector(self._series)
        while self._search(piece, batch) if self.lost_at >= 0 else self._read(piece, batch):
            pass
        return batch.finish()

    def accept(self, found: Sequence[Found], end: int) -> Batch:
        batch = Collector(self._series)
        batch.take_values(found)
        self.position = end
        return batch.finish()

    def reject(self, end: int) -> Batch:
        batch = Collector(self._series)
        self._skip_to(end, Flaw.PROTO, batch)
        return batch.finish()

    def rewind(self, size: int) -> None:
        if self.lost_at < 0:
            return
        is_complete = 0 <= self.torn_end <= size
        may_be_filled = self._lost_in_zeros and self.position - self.lost_at <= _REWIND_BYTES
        if is_complete or may_be_filled:
            self.position = self.lost_at
            self.lost_at = self.torn_end = -1

    def _read(self, piece: _Piece, batch: Collector) -> bool:
        """Read one record; False when it has to wait."""
        if not piece.holds(self.position, HEADER_BYTES):
            return False
        length = piece.find_length(self.position)
        if length is None:
            self._lose(Flaw.HEADER, in_zeros=not any(piece.take(self.position, HEADER_BYTES)))
            return True
        end = self.position + FRAME_BYTES + length
        if end > piece.size:
            self._lose(Flaw.TORN, torn_end=min(end, _FAR))
            return True
        if not piece.holds(self.position, FRAME_BYTES + length):
            if length >= LARGE_RECORD:
                batch.large = Large(self.position, length)
            return False
        payload = self._find_payload(piece, self.position, length)
        if payload is None:
            self._pass_over(end, piece, batch)
            return True
        return self._take(payload, end, batch)

    def _take(self, payload: memoryview, end: int, batch: Collector) -> bool:
        try:
            event = dissect(payload, len(payload), self.position)
        except FormatError:
            self._skip_to(end, Flaw.PROTO, batch)
            return True
        if event.starts_session and batch.records:
            return False
        batch.take(event)
        self.position = end
        return True

    def _pass_over(self, end: int, piece: _Piece, batch: Collector) -> None:
        """A payload is wrong: trust its length unless it is seen to lead to no record."""
        if piece.holds(end, HEADER_BYTES) and piece.find_length(end) is None:
            self._lose(Flaw.DATA)
        else:
            self._skip_to(end, Flaw.DATA, batch)

    def _skip_to(self, end: int, flaw: Flaw, batch: Collector) -> None:
        batch.damage.append(Damage(self.position, end - self.position, flaw))
        self.position = end

    def _lose(self, flaw: Flaw, torn_end: int = -1, in_zeros: bool = False) -> None:
        self.lost_at = self.position
        self.torn_end = torn_end
        self._lost_flaw = flaw
        self._lost_in_zeros = in_zeros
        self.position += 1

    def _search(self, piece: _Piece, batch: Collector) -> bool:
        """Look for the next good record; False when more bytes are needed."""
        unfinished = None
        room = piece.size - self.position
        for place, length in iter_headers(piece.data, self.position - piece.base, room):
            offset = piece.base + place
            if offset + FRAME_BYTES + length > piece.size:
                unfinished = unfinished or offset
            elif self._may_be_good(piece, offset, length):
                self.position = offset
                is_known_good = piece.holds(offset, FRAME_BYTES + length)
                if not is_known_good and length < LARGE_RECORD:
                    return False
                batch.damage.append(Damage(self.lost_at, offset - self.lost_at, self._lost_flaw))
                self.lost_at = self.torn_end = -1
                return True
        # A record may still be being written, and a header start where too few bytes are in hand.
        next_start = piece.base + len(piece.data) - HEADER_BYTES + 1
        self.position = unfinished or max(self.position, next_start)
        return False

    def _may_be_good(self, piece: _Piece, offset: int, length: int) -> bool:
        """Whether the payload of a record with a right header is good, as far as it is in hand."""
        if length > _SHORT_RECORD and self._vain_bytes > _VAIN_BYTES + _VAIN_SHARE * offset:
            return False
        is_whole = piece.holds(offset, FRAME_BYTES + length)
        return not is_whole or self._find_payload(piece, offset, length) is not None

    def _find_payload(self, piece: _Piece, offset: int, length: int) -> memoryview | None:
        payload = piece.find_payload(offset, length)
        if payload is None:
            self._vain_bytes += length
        return payload
