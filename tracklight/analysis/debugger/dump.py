"""Read a dump of TensorFlow's debugger.

A dump consists of six files per host (see `tracklight.formats.debug_events`). As in TensorFlow's
own reader, graph execution traces are read from all hosts and executions from the first one.

Dumps may be damaged or incomplete in every way: `DebugDump.damage` lists what is missing, and
lookups return empty values instead of raising.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracklight.errors import FormatError, Message
from tracklight.formats import proto
from tracklight.formats.batch import DamageKind
from tracklight.formats.debug_events import (
    EXECUTION_FIELD,
    TRACE_FIELD,
    Columns,
    ColumnStore,
    DebuggedGraph,
    ExecutionName,
    FileFollower,
    GraphOp,
    Metadata,
    PayloadScanner,
    SourceFile,
    StackFrame,
    Stop,
    TensorDebugMode,
    TraceName,
    decode_execution_name,
    decode_graph_event,
    decode_metadata,
    decode_source_file,
    decode_source_lines,
    decode_stack_frame,
    decode_trace_name,
    find_record,
    read_summary,
)
from tracklight.formats.tensor import DType, decode_tensor, get_dtype_name
from tracklight.formats.tfrecord import FRAME_BYTES, HEADER_BYTES, MAX_RECORD_BYTES
from tracklight.logdir.discover import DEBUG_EVENT_KINDS
from tracklight.logdir.filesystem import FileHandle
from tracklight.types import DebugEventFile, Float64, Int32, Int64

#: Opens a file of a dump.
OpenFile = Callable[[DebugEventFile], FileHandle]

_DAMAGE_REASONS = {
    DamageKind.HEADER: Message("debugger.damaged_header", "no record starts here"),
    DamageKind.DATA: Message("debugger.damaged_data", "the checksum of a record is wrong"),
    DamageKind.PROTO: Message("debugger.damaged_event", "a record is not a debug event"),
    DamageKind.TORN: Message("debugger.damaged_record", "a record is incomplete"),
}
_MISSING_FILE = Message("debugger.missing_file", "the file is missing")
_NO_METADATA = Message("debugger.no_metadata", "it has no metadata")
_INCOMPLETE_END = Message("debugger.incomplete_end", "the last record is incomplete")


class DumpDamage(NamedTuple):
    """A part of a dump that is missing or cannot be read."""

    file: str
    offset: int
    bytes: int
    reason: Message


class Frame(NamedTuple):
    """A stack frame of the debugged program; ``path`` is empty if its source file is unknown."""

    host: str
    path: str
    line: int
    function: str


class TraceTable(NamedTuple):
    """The graph execution traces of all hosts, one row each."""

    names: list[TraceName]
    shapes: Int64
    """See `Columns.shapes`."""
    host: NDArray[np.uint8]
    offset: Int64
    wall_time: Float64
    name: Int32
    """A row of ``names``."""
    shape: Int32
    health: NDArray[np.uint8]
    bad_counts: NDArray[np.uint32]


class TensorSummary(NamedTuple):
    """What a dump contains of one tensor. Unknown numbers are None."""

    mode: int
    dtype: str | None = None
    rank: int | None = None
    size: int | None = None
    shape: tuple[int | None, ...] | None = None
    nan: int | None = None
    neg_inf: int | None = None
    pos_inf: int | None = None
    negative: int | None = None
    zero: int | None = None
    positive: int | None = None
    has_non_finite: bool | None = None
    value: NDArray[Any] | None = None
    """The tensor itself, in mode FULL_TENSOR."""


def iter_dumps(
    files: Iterable[DebugEventFile], open_file: OpenFile
) -> Iterator[tuple[str, list[list[DebugEventFile]]]]:
    """Group files into dumps; yield the name of each dump and its files, by host.

    The name of a dump is its run or, if several programs wrote to the same directory, the run and
    the prefix of its files.
    """
    by_run: dict[str, dict[str, list[DebugEventFile]]] = {}
    for file in files:
        by_run.setdefault(file.run, {}).setdefault(file.prefix, []).append(file)
    for run, prefixes in by_run.items():
        dumps: dict[str, list[tuple[float, list[DebugEventFile]]]] = {}
        for prefix, group in prefixes.items():
            metadata = read_metadata(group, open_file)
            key = metadata.run_id if metadata and metadata.run_id else prefix
            start = metadata.wall_time if metadata else 0.0
            dumps.setdefault(key, []).append((start, group))
        for hosts in dumps.values():
            hosts.sort(key=lambda host: host[0])
            prefix = hosts[0][1][0].prefix.rpartition("/")[2]
            name = run if len(dumps) == 1 else f"{run}/{prefix}"
            yield name, [group for _, group in hosts]


class DebugDump:
    """A dump, as of the last `update`.

    Args:
        hosts: The files of each host, the first host first.
        open_file: Opens one of these files.
    """

    framework = "tensorflow"

    def __init__(self, hosts: Sequence[Sequence[DebugEventFile]], open_file: OpenFile) -> None:
        self._open_file = open_file
        self.hosts: list[_HostFiles] = []
        self.update(hosts)

    def update(self, hosts: Sequence[Sequence[DebugEventFile]]) -> None:
        """Read what was appended to the files, given their new sizes."""
        self.hosts += [_HostFiles(self._open_file) for _ in hosts[len(self.hosts) :]]
        for host, files in zip(self.hosts, hosts, strict=False):
            host.update(files)
        for name in ("executions", "execution_names", "traces"):
            self.__dict__.pop(name, None)

    @property
    def metadata(self) -> Metadata:
        known = (host.metadata for host in self.hosts if host.metadata is not None)
        return next(known, Metadata(0.0, "", "", ""))

    @property
    def damage(self) -> list[DumpDamage]:
        return [damage for host in self.hosts for damage in host.iter_damage()]

    @cached_property
    def executions(self) -> Columns:
        return self.hosts[0].executions.get()

    @cached_property
    def execution_names(self) -> list[ExecutionName]:
        return [decode_execution_name(key) for key in self.executions.names]

    @cached_property
    def traces(self) -> TraceTable:
        parts = [host.traces.get() for host in self.hosts]
        names = [decode_trace_name(key) for part in parts for key in part.names]
        if len(parts) == 1:
            part = parts[0]
            host = np.zeros(len(part.offset), np.uint8)
            columns = part.offset, part.wall_time, part.name, part.shape, part.health
            return TraceTable(names, part.shapes, host, *columns, part.bad_counts)
        first_name = np.cumsum([0, *(len(part.names) for part in parts)])
        first_shape = np.cumsum([0, *(len(part.shapes) for part in parts)])
        return TraceTable(
            names,
            np.concatenate([part.shapes for part in parts]),
            np.repeat(np.arange(len(parts), dtype=np.uint8), [len(part.offset) for part in parts]),
            np.concatenate([part.offset for part in parts]),
            np.concatenate([part.wall_time for part in parts]),
            _join_ids([part.name for part in parts], first_name),
            _join_ids([part.shape for part in parts], first_shape),
            np.concatenate([part.health for part in parts]),
            np.concatenate([part.bad_counts for part in parts]),
        )

    @property
    def graphs(self) -> dict[str, DebuggedGraph]:
        """Graphs by id."""
        return self._merge("graphs")

    @property
    def ops(self) -> dict[str, dict[str, GraphOp]]:
        """Operations by graph id and name."""
        return self._merge("ops")

    @property
    def devices(self) -> dict[int, str]:
        return self._merge("devices")

    @property
    def source_files(self) -> list[tuple[str, str]]:
        """Host and path of the source files of the program."""
        return self.hosts[0].file_names

    def _merge(self, attribute: str) -> dict[Any, Any]:
        if len(self.hosts) == 1:
            merged: dict[Any, Any] = getattr(self.hosts[0], attribute)
            return merged
        return {
            key: value
            for host in reversed(self.hosts)
            for key, value in getattr(host, attribute).items()
        }

    def find_op(self, graph: str, name: str) -> GraphOp | None:
        for host in self.hosts:
            op = host.ops.get(graph, {}).get(name)
            if op is not None:
                return op
        return None

    def list_outer_graphs(self, graph: str) -> list[str]:
        """Return the ids of the graphs that contain a graph, outermost first, and its own."""
        graphs, chain = self.graphs, [graph]
        while (found := graphs.get(chain[0])) and found.outer and found.outer not in chain:
            chain.insert(0, found.outer)
        return chain

    def get_stack(self, frame_ids: Iterable[str]) -> list[Frame]:
        """Return stack frames, outermost first; unknown ones are left out."""
        frames = (host.find_frame(id) for id in frame_ids for host in self.hosts)
        return [frame for frame in frames if frame is not None]

    def read_source_lines(self, path: str, host: str | None = None) -> list[str] | None:
        """Return the lines of a source file as it was when the program ran."""
        for files in self.hosts:
            for file in files.source_files:
                if file.path == path and host in (None, file.host):
                    payload = files.read_record("source_files", file.offset)
                    return None if payload is None else decode_source_lines(payload)
        return None

    # ---- tensors

    def read_execution_tensors(self, row: int) -> list[TensorSummary]:
        """Return what the dump contains of the outputs of an execution."""
        payload = self.hosts[0].read_record("execution", int(self.executions.offset[row]))
        if payload is None:
            return []
        message = proto.parse("DebugEvent", payload).execution
        mode = message.tensor_debug_mode
        return [describe_tensor(tensor, mode) for tensor in message.tensor_protos]

    def read_trace_tensor(self, row: int) -> TensorSummary:
        """Return what the dump contains of the tensor of a graph execution trace."""
        traces = self.traces
        host = self.hosts[int(traces.host[row])]
        payload = host.read_record("graph_execution_traces", int(traces.offset[row]))
        if payload is None:
            return TensorSummary(traces.names[traces.name[row]].mode)
        message = proto.parse("DebugEvent", payload).graph_execution_trace
        return describe_tensor(message.tensor_proto, message.tensor_debug_mode)


def describe_tensor(tensor: bytes, mode: int) -> TensorSummary:
    """Decode the tensor of an event according to the debug mode."""
    try:
        message = proto.parse("TensorProto", tensor)
        if mode == TensorDebugMode.FULL_TENSOR and message.dtype:
            return describe_array(decode_tensor(message), name_dtype(message.dtype))
        summary = read_summary(message)
    except FormatError:
        return TensorSummary(mode)
    if mode == TensorDebugMode.CURT_HEALTH and len(summary) == 2:
        return TensorSummary(mode, has_non_finite=summary[1] != 0)
    if mode == TensorDebugMode.CONCISE_HEALTH and len(summary) == 5:
        size, neg_inf, pos_inf, nan = (int(value) for value in summary[1:])
        return TensorSummary(
            mode,
            size=size,
            nan=nan,
            neg_inf=neg_inf,
            pos_inf=pos_inf,
            has_non_finite=bool(nan or neg_inf or pos_inf),
        )
    if mode == TensorDebugMode.FULL_HEALTH and len(summary) == 11:
        counts = [int(value) for value in summary[2:]]
        dtype, rank, size, neg_inf, pos_inf, nan, negative, zero, positive = counts
        return TensorSummary(
            mode,
            name_dtype(dtype),
            rank,
            size,
            None,
            nan,
            neg_inf,
            pos_inf,
            negative,
            zero,
            positive,
            bool(nan or neg_inf or pos_inf),
        )
    if mode == TensorDebugMode.SHAPE and len(summary) == 10:
        dtype, rank, size, *dims = (int(value) for value in summary[1:])
        # Only the last six dimensions are stored.
        shape = (*([None] * (rank - len(dims))), *dims[: min(rank, len(dims))])
        return TensorSummary(mode, name_dtype(dtype), rank, size, shape)
    return TensorSummary(mode)


def describe_array(value: NDArray[Any], dtype: str = "") -> TensorSummary:
    """Return the summary of a tensor whose values are known."""
    summary = TensorSummary(
        TensorDebugMode.FULL_TENSOR,
        dtype or value.dtype.name,
        value.ndim,
        value.size,
        value.shape,
        value=value,
    )
    if value.dtype.kind != "f":
        return summary
    is_inf = np.isinf(value)
    nan = int(np.count_nonzero(np.isnan(value)))
    neg_inf = int(np.count_nonzero(is_inf & (value < 0)))
    pos_inf = int(np.count_nonzero(is_inf)) - neg_inf
    return summary._replace(
        nan=nan,
        neg_inf=neg_inf,
        pos_inf=pos_inf,
        # As TensorFlow counts: infinities are neither negative nor positive.
        negative=int(np.count_nonzero(value < 0)) - neg_inf,
        zero=int(np.count_nonzero(value == 0)),
        positive=int(np.count_nonzero(value > 0)) - pos_inf,
        has_non_finite=bool(nan or neg_inf or pos_inf),
    )


def name_dtype(code: int) -> str:
    """Return the name of a dtype of TensorFlow."""
    try:
        return get_dtype_name(DType(code))
    except ValueError:
        return f"dtype {code}"


def _join_ids(parts: list[Int32], firsts: NDArray[Any]) -> Int32:
    return np.concatenate(
        [part + np.int32(first) for part, first in zip(parts, firsts, strict=False)]
    )


def read_metadata(files: Iterable[DebugEventFile], open_file: OpenFile) -> Metadata | None:
    """Return the metadata among the files of a host, without reading the other files."""
    host = _HostFiles(open_file)
    host.update([file for file in files if file.kind == "metadata"])
    return host.metadata


class _HostFiles:
    """The files with one prefix, read as far as they have been written."""

    def __init__(self, open_file: OpenFile) -> None:
        self.open_file = open_file
        self._files: dict[str, DebugEventFile] = {}
        self._problems: dict[str, str] = {}
        self._reset()

    def _reset(self) -> None:
        self.metadata: Metadata | None = None
        self.source_files: list[SourceFile] = []
        self.frames: dict[str, StackFrame] = {}
        self.graphs: dict[str, DebuggedGraph] = {}
        self.ops: dict[str, dict[str, GraphOp]] = {}
        self.devices: dict[int, str] = {}
        self.executions = ColumnStore(EXECUTION_FIELD)
        self.traces = ColumnStore(TRACE_FIELD)
        self._file_names: tuple[int, list[tuple[str, str]]] | None = None
        self._payloads = PayloadScanner()
        self._followers: dict[str, FileFollower] = {}
        self._bad_payloads: list[DumpDamage] = []

    def update(self, files: Iterable[DebugEventFile]) -> None:
        self._files = {file.kind: file for file in files}
        followers = self._followers
        positions = {kind: follower.position for kind, follower in followers.items()}
        if any(file.bytes < positions.get(kind, 0) for kind, file in self._files.items()):
            self._reset()  # the files were replaced
        for kind in DEBUG_EVENT_KINDS:
            if kind in self._files:
                self._update_file(kind, self._files[kind])

    def _update_file(self, kind: str, file: DebugEventFile) -> None:
        follower = self._followers.get(kind)
        if follower is None:
            follower = self._followers[kind] = self._make_follower(kind)
        if follower.position >= file.bytes:
            return
        try:
            with self.open_file(file) as handle:
                follower.update(handle.read_into, file.bytes)
        except OSError as error:
            self._problems[kind] = error.strerror or str(error)
            return
        self._problems.pop(kind, None)
        for offset, payload in self._payloads.take():
            try:
                self._add_message(kind, payload, offset)
            except FormatError:
                size = len(payload) + FRAME_BYTES
                reason = _DAMAGE_REASONS[DamageKind.PROTO]
                self._bad_payloads.append(DumpDamage(file.path, offset, size, reason))

    def _make_follower(self, kind: str) -> FileFollower:
        stores = {"execution": self.executions, "graph_execution_traces": self.traces}
        store = stores.get(kind)
        if store is None:
            return FileFollower(self._payloads)
        return FileFollower(store.scanner, store.collect)

    def _add_message(self, kind: str, payload: bytes, offset: int) -> None:
        if kind == "metadata":
            self.metadata = self.metadata or decode_metadata(payload)
        elif kind == "source_files":
            if (file := decode_source_file(payload, offset)) is not None:
                self.source_files.append(file)
        elif kind == "stack_frames":
            if (frame := decode_stack_frame(payload)) is not None:
                self.frames[frame[0]] = frame[1]
        else:
            self._add_graph_event(payload)

    def _add_graph_event(self, payload: bytes) -> None:
        message = decode_graph_event(payload)
        if isinstance(message, GraphOp):
            self.ops.setdefault(message.graph, {})[message.name] = message
        elif isinstance(message, DebuggedGraph):
            self.graphs[message.id] = message
        elif message is not None:
            self.devices[message[0]] = message[1]

    @property
    def file_names(self) -> list[tuple[str, str]]:
        """Host and path of the source files, without repetition, as TensorFlow numbers them."""
        if self._file_names is None or self._file_names[0] != len(self.source_files):
            names = list(dict.fromkeys((file.host, file.path) for file in self.source_files))
            self._file_names = len(self.source_files), names
        return self._file_names[1]

    def find_frame(self, id: str) -> Frame | None:
        frame = self.frames.get(id)
        if frame is None:
            return None
        files = self.file_names
        host, path = files[frame.file] if 0 <= frame.file < len(files) else ("", "")
        return Frame(host, path, frame.line, frame.function)

    def iter_damage(self) -> Iterator[DumpDamage]:
        yield from self._bad_payloads
        prefix = next(iter(self._files.values())).prefix if self._files else ""
        for kind in DEBUG_EVENT_KINDS:
            path = f"{prefix}.{kind}"
            follower = self._followers.get(kind)
            if kind not in self._files:
                yield DumpDamage(path, 0, 0, _MISSING_FILE)
            elif kind in self._problems:
                reason = Message.format(
                    "debugger.unreadable_file",
                    "the file cannot be read: {error}",
                    error=self._problems[kind],
                )
                yield DumpDamage(path, 0, 0, reason)
            elif kind == "metadata" and self.metadata is None:
                yield DumpDamage(path, 0, self._files[kind].bytes, _NO_METADATA)
            elif follower is not None:
                for damage in follower.damage:
                    reason = _DAMAGE_REASONS[damage.kind]
                    yield DumpDamage(path, damage.offset, damage.size, reason)
                if follower.incomplete_bytes:
                    position, size = follower.position, follower.incomplete_bytes
                    yield DumpDamage(path, position, size, _INCOMPLETE_END)

    def read_record(self, kind: str, offset: int) -> bytes | None:
        """Return the payload of a record; None if it cannot be read (any more)."""
        file = self._files.get(kind)
        if file is None:
            return None
        try:
            with self.open_file(file) as handle:
                header = handle.read(offset, HEADER_BYTES)
                length = int.from_bytes(header[:8], "little")
                if len(header) < HEADER_BYTES or length > MAX_RECORD_BYTES:
                    return None
                stop, payload = find_record(handle.read(offset, length + FRAME_BYTES), 0)
        except OSError:
            return None
        return payload if stop == Stop.END else None
