"""Reads on in one event file and adds what is found to its index."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tracklight.formats.batch import Damage, Flaw
from tracklight.formats.scan import Scanner, create_scanner
from tracklight.index.file import EventFile
from tracklight.index.segment import Origin
from tracklight.logdir.filesystem import FileStat, FileSystem
from tracklight.logdir.tail import Tail
from tracklight.util.lru_cache import LruCache

#: Files whose scanners are kept between two reads; the others' are made anew from their tags.
_TAILS_KEPT = 256


class Reader:
    """Reads the files of one shard; any number of threads, each with a file of its own."""

    def __init__(self, lock: threading.RLock) -> None:
        self._lock = lock
        self._tails: LruCache[EventFile, Tail] = LruCache(max_items=_TAILS_KEPT)

    def read(
        self, fs: FileSystem, file: EventFile, stat: FileStat, tell: Callable[[int], None]
    ) -> bool:
        """Read on up to ``stat.size``; say whether anything was found.

        ``tell`` hears after each piece how many bytes are done with; it may store the file.
        """
        tail = self._get_tail(fs, file)
        before = position = tail.scanner.position
        for batch in tail.read_batches(stat.size):
            with self._lock:
                file.append(batch)
                file.origin = _origin_so_far(file, tail)
            tell(tail.scanner.position - position)
            position = tail.scanner.position
        with self._lock:
            _finish(file, tail, stat)
        return position != before

    def forget(self, file: EventFile) -> None:
        """A file is gone, or is to be read from its start."""
        with self._lock:
            self._tails.remove(file)

    def _get_tail(self, fs: FileSystem, file: EventFile) -> Tail:
        with self._lock:
            tail = self._tails.find(file)
            if tail is None:
                scanner = create_scanner(file.tags, file.metadata, file.origin.end)
                tail = Tail(fs, file.path, scanner, file.origin.fingerprint)
                self._tails.put(file, tail)
            return tail


def _origin_so_far(file: EventFile, tail: Tail) -> Origin:
    """Looks like no file there is: nobody must take what is read by halves for the whole."""
    return Origin(file.path, 0, _resume_at(tail.scanner), FileStat(-1, 0, ""), None)


def _finish(file: EventFile, tail: Tail, stat: FileStat) -> None:
    scanner = tail.scanner
    # A record that is still being written is no damage: it is only waited for.
    unreadable = scanner.lost_at >= 0 and scanner.torn_end < 0
    size = stat.size - scanner.lost_at
    file.lost = Damage(scanner.lost_at, size, Flaw.HEADER) if unreadable else None
    file.origin = Origin(file.path, 0, _resume_at(scanner), stat, tail.fingerprint)
    file.compact()


def _resume_at(scanner: Scanner) -> int:
    """What is unreadable now may read well later, so another scanner is to start before it."""
    return scanner.lost_at if scanner.lost_at >= 0 else scanner.position
