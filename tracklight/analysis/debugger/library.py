"""All dumps and recordings of a log, opened on demand and updated when the log changes."""

from __future__ import annotations

import threading
from typing import Literal, NamedTuple, TypeAlias

from tracklight.analysis.debugger.dump import DebugDump, iter_dumps, read_metadata
from tracklight.analysis.debugger.dump_analysis import DumpAnalysis
from tracklight.analysis.debugger.dump_monitor import find_first_event
from tracklight.analysis.debugger.recording import Recording, RecordingKey, iter_recordings
from tracklight.analysis.debugger.recording_analysis import RecordingAnalysis
from tracklight.analysis.source import Source
from tracklight.errors import LogError
from tracklight.types import DebugEventFile

Analysis: TypeAlias = DumpAnalysis | RecordingAnalysis

#: How many opened dumps are kept; each may take hundreds of megabytes.
_MAX_OPEN = 4
#: Dumps up to this size are read for lists of dumps and for alerts, before anyone opens them.
MAX_QUICK_BYTES = 64 << 20


class SourceSummary(NamedTuple):
    """What is known of a dump or recording without details."""

    kind: Literal["dump", "recording"]
    framework: str
    version: str
    problem_step: int | None = None
    """The step of the root cause of a recording; None if another rank has the cause."""
    problem_time: float | None = None
    """The wall time of the root cause of a recording, or of the first NaN or Inf of a dump."""


class _Entry(NamedTuple):
    run: str
    version: str
    hosts: list[list[DebugEventFile]]
    recording: RecordingKey | None

    @property
    def bytes(self) -> int:
        return sum(file.bytes for host in self.hosts for file in host)


class DebuggerLibrary:
    """Opens dumps and recordings by name. All methods may be called from any thread.

    Args:
        source: The log.
        max_open: How many opened dumps and recordings are kept.
    """

    def __init__(self, source: Source, max_open: int = _MAX_OPEN) -> None:
        self._source = source
        self._max_open = max_open
        self._lock = threading.Lock()
        self._listed: tuple[int, dict[str, _Entry]] | None = None
        self._dumps: dict[str, DebugDump] = {}
        self._open: dict[str, tuple[str, Analysis]] = {}
        self._summaries: dict[str, tuple[str, SourceSummary]] = {}

    def list_names(self) -> list[str]:
        """Return the names of all dumps and recordings."""
        with self._lock:
            return list(self._list())

    def get_run(self, name: str) -> str:
        """Return the run that a dump or recording belongs to."""
        with self._lock:
            return self._get_entry(name).run

    def find_dump(self, prefix: str) -> str | None:
        """Return the name of the dump with files of this prefix."""
        with self._lock:
            for name, entry in self._list().items():
                if any(file.prefix == prefix for host in entry.hosts for file in host):
                    return name
        return None

    def count_dump_bytes(self, name: str) -> int:
        """Return the size of the files of a dump; 0 for a recording."""
        with self._lock:
            return self._get_entry(name).bytes

    def get(self, name: str) -> Analysis:
        """Open a dump or recording, or read what was appended to it.

        Raises:
            LogError: There is no dump or recording of that name.
        """
        with self._lock:
            entry = self._get_entry(name)
            known = self._open.pop(name, None)
            if known is None or known[0] != entry.version:
                known = entry.version, self._analyze(name, entry)
            self._open[name] = known  # the last one is the most recently used
            while len(self._open) > self._max_open:
                oldest = next(iter(self._open))
                del self._open[oldest]
                self._dumps.pop(oldest, None)
            return known[1]

    def summarize(self, name: str) -> SourceSummary:
        """Summarize a dump or recording. A dump, which may be large, is not opened.

        Raises:
            LogError: There is no dump or recording of that name.
        """
        with self._lock:
            entry = self._get_entry(name)
            known = self._summaries.get(name)
        if known is not None and known[0] == entry.version:
            return known[1]
        if entry.recording is None:
            metadata = read_metadata(entry.hosts[0], self._source.open_debug_file)
            version = metadata.tensorflow_version if metadata is not None else ""
            time = self._find_problem_time(entry)
            summary = SourceSummary("dump", DebugDump.framework, version, problem_time=time)
        else:
            analysis = self.get(name)
            assert isinstance(analysis, RecordingAnalysis)
            layout, cause = analysis.recording.layout, analysis.root_cause
            is_own = cause is not None and analysis.cause_in_other_rank is None
            step = cause.step if cause is not None and is_own else None
            time = None if step is None else analysis.recording.find_wall_time(step)
            summary = SourceSummary("recording", layout.framework, layout.version, step, time)
        with self._lock:
            self._summaries[name] = entry.version, summary
        return summary

    def _find_problem_time(self, entry: _Entry) -> float | None:
        if entry.bytes > MAX_QUICK_BYTES:
            return None
        event = find_first_event((file for host in entry.hosts for file in host), self._source)
        return event.wall_time if event is not None else None

    def _analyze(self, name: str, entry: _Entry) -> Analysis:
        if entry.recording is not None:
            return RecordingAnalysis(Recording(self._source, entry.recording))
        dump = self._dumps.get(name)
        if dump is None:
            dump = self._dumps[name] = DebugDump(entry.hosts, self._source.open_debug_file)
        else:
            dump.update(entry.hosts)
        return DumpAnalysis(dump)

    def _get_entry(self, name: str) -> _Entry:
        entries = self._list()
        if name not in entries:
            names = ", ".join(f'"{it}"' for it in list(entries)[:5]) or "none"
            raise LogError(f'No debugger data "{name}". Found: {names}')
        return entries[name]

    def _list(self) -> dict[str, _Entry]:
        version = self._source.version
        if self._listed is None or self._listed[0] != version:
            self._listed = version, self._list_entries()
        return self._listed[1]

    def _list_entries(self) -> dict[str, _Entry]:
        entries: dict[str, _Entry] = {}
        for name, hosts in iter_dumps(self._source.debug_files(), self._source.open_debug_file):
            files = [file for host in hosts for file in host]
            version = " ".join(file.version for file in files)
            entries[name] = _Entry(files[0].run, version, hosts, None)
        for key in iter_recordings(self._source):
            name = key.name if key.name not in entries else f"{key.name} (recording)"
            tags = [it for it in self._source.tags(key.run) if it.tag.startswith("debugger/")]
            version = " ".join(f"{it.tag} {it.count}" for it in tags)
            entries[name] = _Entry(key.run, version, [], key)
        return entries
