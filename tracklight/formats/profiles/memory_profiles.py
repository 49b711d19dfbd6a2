"""Read memory profiles: snapshots of PyTorch's CUDA allocator, and pprof files.

A snapshot is a pickle of lists and dicts, which is read without Python's unpickler:

- ``segments``: memory that the allocator got from the driver, divided into ``blocks``;
- ``device_traces``: for each device, its latest calls, oldest first;
- ``frames`` of blocks and calls: the stack that allocated or freed, innermost frame first.

The structure is documented at https://docs.pytorch.org/docs/stable/torch_cuda_memory.html. Sizes in
traces are those that the program requested. Blocks have both that and the rounded size.

JAX writes device memory profiles in the format of pprof
(https://github.com/google/pprof/blob/main/proto/profile.proto).
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

from tracklight.errors import FormatError
from tracklight.formats import proto
from tracklight.formats.checkpoints.torch_file import load_plain_pickle
from tracklight.formats.proto import Message, decode_text

#: Reading takes about 100 bytes of memory and 1 µs per byte at most.
MAX_SNAPSHOT_BYTES = 256 << 20
#: A pickle can refer to one value many times, so that its size does not limit these numbers.
MAX_SEGMENTS, MAX_BLOCKS, MAX_CALLS = 1_000_000, 4_000_000, 10_000_000
MAX_STACK_FRAMES = 500
MAX_DEVICES = 1024

#: States of blocks. Memory that waits for a stream before it is free is still active.
INACTIVE = "inactive"
ACTIVE_STATES = ("active_allocated", "active_pending_free", "active_awaiting_free")

#: Calls that change which memory is in use, and the name of the call in traces.
ALLOCATE, FREE_REQUESTED, FREE_COMPLETED = "alloc", "free_requested", "free_completed"
SEGMENT_ALLOCATE, SEGMENT_FREE = "segment_alloc", "segment_free"
SEGMENT_MAP, SEGMENT_UNMAP = "segment_map", "segment_unmap"
OUT_OF_MEMORY = "oom"


class StackFrame(NamedTuple):
    """A call. Frames of C++ have no line and mostly no file."""

    function: str
    file: str
    line: int


class AllocatorCall(NamedTuple):
    """A call of the allocator; ``time_us`` is Unix time, -1 if it was not recorded."""

    action: str
    address: int
    size: int
    time_us: int
    stack: int
    """Index into `CudaSnapshot.stacks`."""
    stream: int
    free_bytes: int = -1
    """Free memory of the device when it was not enough; -1 for other calls."""


class MemoryBlock(NamedTuple):
    """A part of a segment: in use, or free."""

    address: int
    size: int
    requested_size: int
    state: str
    stack: int


class MemorySegment(NamedTuple):
    """Memory that the allocator got from the driver."""

    device: int
    address: int
    size: int
    stream: int
    kind: str
    """``small`` or ``large``."""
    is_expandable: bool
    blocks: list[MemoryBlock]


class CudaSnapshot(NamedTuple):
    """The state of an allocator, and the calls before it by device. Stack 0 is empty."""

    segments: list[MemorySegment]
    calls: dict[int, list[AllocatorCall]]
    stacks: list[tuple[StackFrame, ...]]
    settings: dict[str, str]


def parse_cuda_snapshot(data: bytes) -> CudaSnapshot:
    """Decode a snapshot.

    Raises:
        FormatError: The bytes are no pickle, are damaged, contain objects other than containers,
            texts and numbers, or have another structure.
    """
    content = load_plain_pickle(data, MAX_SNAPSHOT_BYTES)
    if not isinstance(content, dict) or "segments" not in content:
        raise FormatError(
            "profile.not_snapshot",
            "not a memory snapshot: save one with torch.cuda.memory._dump_snapshot",
        )
    return _Converter().convert(content)


# ---- pprof


class _Converter:
    """Checks the types of all values. Equal stacks, which are mostly shared, are kept once."""

    def __init__(self) -> None:
        self._stacks: dict[tuple[StackFrame, ...], int] = {(): 0}
        self._stack_ids: dict[int, int] = {}
        self._frames: dict[int, StackFrame] = {}
        self._block_count = 0
        self._call_count = 0

    def convert(self, content: dict[Any, Any]) -> CudaSnapshot:
        segments = _get_list(content, "segments", MAX_SEGMENTS)
        traces = _get_list(content, "device_traces", MAX_DEVICES)
        settings = content.get("allocator_settings")
        calls = {device: self._convert_trace(trace) for device, trace in enumerate(traces) if trace}
        return CudaSnapshot(
            segments=[self._convert_segment(segment) for segment in segments],
            calls=calls,
            stacks=[*self._stacks],
            settings={
                str(key): str(value)
                for key, value in (settings.items() if isinstance(settings, dict) else ())
                if isinstance(value, (str, int, float))
            },
        )

    def _convert_segment(self, segment: Any) -> MemorySegment:
        blocks = _get_list(segment, "blocks", MAX_BLOCKS)
        self._block_count += len(blocks)
        if self._block_count > MAX_BLOCKS:
            raise _make_error("blocks")
        address = _get_int(segment, "address", 0)
        converted, position = [], address
        for block in blocks:
            # Before PyTorch 2.1, blocks have no address.
            converted.append(self._convert_block(block, _get_int(block, "address", position)))
            position = converted[-1].address + converted[-1].size
        return MemorySegment(
            device=_get_int(segment, "device", 0),
            address=address,
            size=_get_int(segment, "total_size"),
            stream=_get_int(segment, "stream", 0),
            kind=_get_text(segment, "segment_type"),
            is_expandable=bool(_get_int(segment, "is_expandable", 0)),
            blocks=converted,
        )

    def _convert_block(self, block: Any, address: int) -> MemoryBlock:
        state, size = _get_text(block, "state"), _get_int(block, "size")
        if state != INACTIVE and state not in ACTIVE_STATES:
            raise _make_error("state")
        # In versions before 2.1, the stack is that of the latest entry of a history.
        history = block.get("history")
        source = history[0] if isinstance(history, list) and history else block
        requested = _get_int(source, "real_size", _get_int(block, "requested_size", size))
        return MemoryBlock(
            address=address,
            size=size,
            requested_size=requested if state != INACTIVE else 0,
            state=state,
            stack=self._convert_stack(source),
        )

    def _convert_trace(self, trace: Any) -> list[AllocatorCall]:
        self._call_count += len(trace) if isinstance(trace, list) else MAX_CALLS + 1
        if self._call_count > MAX_CALLS:
            raise _make_error("device_traces")
        return [
            AllocatorCall(
                action=_get_text(entry, "action"),
                address=_get_int(entry, "addr", 0),
                size=_get_int(entry, "size", 0),
                time_us=_get_int(entry, "time_us", -1),
                stack=self._convert_stack(entry),
                stream=_get_int(entry, "stream", 0),
                free_bytes=_get_int(entry, "device_free", -1),
            )
            for entry in trace
        ]

    def _convert_stack(self, owner: Any) -> int:
        frames = owner.get("frames") if isinstance(owner, dict) else None
        if not frames:
            return 0
        # The content of the pickle outlives the converter, so that no id is used twice.
        known = self._stack_ids.get(id(frames))
        if known is None:
            if not isinstance(frames, list):
                raise _make_error("frames")
            stack = tuple(self._convert_frame(frame) for frame in frames[:MAX_STACK_FRAMES])
            known = self._stacks.setdefault(stack, len(self._stacks))
            self._stack_ids[id(frames)] = known
        return known

    def _convert_frame(self, frame: Any) -> StackFrame:
        known = self._frames.get(id(frame))
        if known is None:
            known = StackFrame(
                _get_text(frame, "name"), _get_text(frame, "filename"), _get_int(frame, "line", 0)
            )
            self._frames[id(frame)] = known
        return known


_REQUIRED = object()


def _get_int(owner: Any, key: str, default: Any = _REQUIRED) -> int:
    value = owner.get(key, default) if isinstance(owner, dict) else None
    if not isinstance(value, int) or not -(1 << 63) <= value < 1 << 64:
        raise _make_error(key)
    return int(value)


def _get_text(owner: Any, key: str) -> str:
    value = owner.get(key, "") if isinstance(owner, dict) else None
    if not isinstance(value, str):
        raise _make_error(key)
    return value


def _get_list(owner: Any, key: str, max_length: int) -> list[Any]:
    value = owner.get(key, []) if isinstance(owner, dict) else None
    if not isinstance(value, list) or len(value) > max_length:
        raise _make_error(key)
    return value


def _make_error(key: str) -> FormatError:
    return FormatError(
        "profile.snapshot_invalid",
        'the memory snapshot is invalid: unexpected value of "{key}"',
        key=key,
    )


_GZIP_MAGIC = b"\x1f\x8b"
#: Far more than the profile of a large program; protects against decompression bombs.
_MAX_BYTES = 256 << 20


class PprofFrame(NamedTuple):
    function: str
    file: str
    line: int


class PprofSample(NamedTuple):
    """One measurement: a value for each type of the profile, and its stack, innermost first."""

    stack: tuple[PprofFrame, ...]
    values: tuple[int, ...]
    labels: dict[str, str]


class PprofProfile(NamedTuple):
    types: tuple[str, ...]
    samples: tuple[PprofSample, ...]


def parse_pprof(data: bytes) -> PprofProfile:
    """Decode a profile, compressed or not.

    Raises:
        FormatError: The bytes are not a pprof profile.
    """
    content = _decompress(data) if data.startswith(_GZIP_MAGIC) else data
    profile = proto.parse("PprofProfile", content)
    if not profile.string_table:
        raise FormatError("profile.not_pprof", "not a pprof profile: it has no string table")
    return _PprofConverter(profile).convert()


def _decompress(data: bytes) -> bytes:
    decompressor = zlib.decompressobj(wbits=31)
    try:
        content = decompressor.decompress(data, _MAX_BYTES)
    except zlib.error as error:
        raise FormatError(
            "profile.cannot_decompress", "the profile cannot be decompressed: {error}", error=error
        ) from error
    if decompressor.unconsumed_tail:
        raise FormatError(
            "profile.decompressed_too_large",
            "the decompressed profile is larger than {limit_mb} MB",
            limit_mb=_MAX_BYTES >> 20,
        )
    return content


class _PprofConverter:
    """Replaces the indexes and ids of a profile with what they refer to."""

    def __init__(self, profile: Message) -> None:
        self._profile = profile
        self._strings = [decode_text(item) for item in profile.string_table]
        functions = {
            item.id: (self._get_text(item.name), self._get_text(item.filename))
            for item in profile.function
        }
        # A location has several frames where calls were inlined.
        self._frames = {
            location.id: tuple(
                PprofFrame(*functions.get(line.function_id, ("", "")), line.line)
                for line in location.line
            )
            for location in profile.location
        }

    def convert(self) -> PprofProfile:
        types = (self._get_text(item.type) for item in self._profile.sample_type)
        return PprofProfile(tuple(types), tuple(map(self._convert_sample, self._profile.sample)))

    def _convert_sample(self, data: bytes) -> PprofSample:
        sample = proto.parse("PprofSample", data)
        stack = (frame for id in sample.location_id for frame in self._frames.get(id, ()))
        labels = {
            self._get_text(item.key): self._get_text(item.str) or str(item.num or "")
            for item in sample.label
        }
        return PprofSample(tuple(stack), tuple(sample.value), labels)

    def _get_text(self, index: int) -> str:
        return self._strings[index] if 0 <= index < len(self._strings) else ""
