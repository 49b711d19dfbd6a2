"""Compute the health of arrays, collect it step by step, and write it to an event file.

`compute_health` fills a row of `STATS` for an array in main memory. A framework integration calls
`Recorder.add` for each tensor in the order of computation, and `Recorder.end_step` with the health
matrix of the step. The recorder decides what is written: the steps of the schedule, and the last
steps before a value became non-finite. A `TensorFilter` selects tensors by name, type and dtype,
and `capture_stack` tells where in the user's program a tensor is computed.
"""

from __future__ import annotations

import ctypes
import linecache
import math
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from types import FrameType
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.errors import Message, NonFiniteError
from tracklight.formats import proto
from tracklight.formats.summary import make_metadata
from tracklight.formats.tensor import encode_tensor
from tracklight.formats.tensor_health import (
    HEALTH_TAG,
    HISTOGRAM_TAG,
    LAYOUT_TAG,
    LOSS_SCALE_TAG,
    NON_FINITE_TAG,
    PLUGIN,
    REPORT_TAG,
    SKIPPED_TAG,
    SOURCE_FILES_TAG,
    STATS,
    VALUES_TAG,
    HealthLayout,
    HealthReport,
    RecordedSourceFile,
    RecorderNote,
    SourceLocation,
    WatchedTensor,
    compute_histograms,
    list_non_finite,
    make_tag,
    trace_origin,
)
from tracklight.types import Float32
from tracklight.util.parsing import is_library_path
from tracklight.writer.event_writer import EventWriter
from tracklight.writer.warnings import ArgumentError

try:
    from tracklight.debugger._health import compute, count_dead
except ImportError:
    compute = count_dead = None  # type: ignore[assignment]

#: The kinds of numbers that the kernel reads, by the name of the dtype in every framework.
KERNEL_KINDS = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 3}
#: Bytes of a number of each kind.
KERNEL_ITEM_SIZES = (4, 8, 2, 2)
#: Values of a tensor that a histogram is made of.
SAMPLE_SIZE = 1024
#: Largest number and smallest normal number of 16-bit types.
RANGES = {"float16": (65504.0, 2.0**-14), "bfloat16": (3.3895313892515355e38, 2.0**-126)}
_EMPTY_ROW: Float32 = np.full(len(STATS), np.nan, np.float32)


def compute_health(
    array: NDArray[Any],
    dtype: str,
    row: Float32,
    channel_axis: int | None,
    *,
    sample: Float32 | None = None,
    threads: int = 1,
) -> None:
    """Fill a row, except for the column ``order``, and a sample of the values.

    Args:
        array: A C-contiguous array; bfloat16 as its 16-bit integers.
        dtype: Name of its dtype.
        row: The row to fill.
        channel_axis: The axis of units that may be dead; None to leave that column at 0.
        sample: Receives values at equal distances, for a histogram; see `get_sample_size`.
        threads: Number of OpenMP threads to use, if the framework has loaded OpenMP.
    """
    if compute is None or dtype not in KERNEL_KINDS:
        _compute_in_numpy(array, dtype, row)
        row[13] = 0 if channel_axis is None else _count_dead_in_numpy(array, channel_axis)
        if sample is not None:
            sample[:] = _take_sample(array, dtype)
    else:
        kind, address = KERNEL_KINDS[dtype], array.ctypes.data
        if sample is None:
            sample = np.empty(get_sample_size(array.size), np.float32)
        compute_in_memory(address, array.shape, kind, row, channel_axis, sample, threads=threads)


def has_kernel() -> bool:
    """Whether `compute_in_memory` can be called."""
    return compute is not None


def compute_in_memory(
    address: int,
    shape: Sequence[int],
    kind: int,
    row: Float32,
    channel_axis: int | None,
    sample: Float32,
    *,
    threads: int = 1,
) -> None:
    """Do the same as `compute_health`, with the address of a C-contiguous array.

    Args:
        address: Address of the first element. The caller keeps the array alive.
        shape: Shape of the array.
        kind: One of `KERNEL_KINDS`.
        row: The row to fill.
        channel_axis: The axis of units that may be dead; None to leave that column at 0.
        sample: Receives values at equal distances, for a histogram; see `get_sample_size`.
        threads: Number of OpenMP threads to use, if the framework has loaded OpenMP.
    """
    size = math.prod(shape)
    stride = get_sample_stride(size)
    parallel, thread_number = _get_openmp_addresses() if threads > 1 else (0, 0)
    compute(address, size, kind, row, stride, sample, parallel, thread_number, threads)
    row[13] = 0
    if channel_axis is not None:
        outer, inner = math.prod(shape[:channel_axis]), math.prod(shape[channel_axis:][1:])
        channels = shape[channel_axis]
        row[13] = count_dead(address, outer, channels, inner, KERNEL_ITEM_SIZES[kind])


@cache
def _get_openmp_addresses() -> tuple[int, int]:
    """Return the addresses of ``GOMP_parallel`` and ``omp_get_thread_num``; 0 without OpenMP.

    PyTorch makes the OpenMP runtime that it uses visible to the whole process. Its threads wait for
    the next operation actively: threads of our own would compete with them for the same cores.
    """
    try:
        library = ctypes.CDLL(None)
        functions = library.GOMP_parallel, library.omp_get_thread_num
    except (AttributeError, OSError, TypeError):  # Windows has no global symbols
        return 0, 0
    parallel, thread_number = (
        ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions
    )
    return parallel, thread_number


def _count_dead_in_numpy(array: NDArray[Any], axis: int) -> int:
    """Return how many slices along ``axis`` are zero everywhere."""
    axes = tuple(i for i in range(array.ndim) if i != axis % array.ndim)
    return int(array.shape[axis]) - int(np.count_nonzero(np.any(array != 0, axis=axes)))


def _compute_in_numpy(array: NDArray[Any], dtype: str, row: Float32) -> None:
    """Compute the same statistics without the kernel."""
    if dtype == "bfloat16":
        array = (array.astype(np.uint32) << 16).view(np.float32)
    values = array.astype(np.float64).ravel()
    is_nan, is_inf = np.isnan(values), np.isinf(values)
    finite = values[~(is_nan | is_inf)]
    row[1] = np.count_nonzero(is_nan)
    row[2] = np.count_nonzero(is_inf & (values < 0))
    row[3] = np.count_nonzero(is_inf & (values > 0))
    row[4] = np.count_nonzero(finite == 0)
    row[5] = np.count_nonzero(finite < 0)
    row[6:13] = 0
    if len(finite):
        row[6], row[7] = finite.min(), finite.max()
        row[8], row[9] = finite.mean(), finite.std()
        row[10] = np.sqrt(np.sum(finite * finite))
    if dtype in RANGES:
        limit, tiny = RANGES[dtype]
        magnitude = np.abs(values)
        row[11] = np.count_nonzero(magnitude >= limit)
        row[12] = np.count_nonzero((magnitude > 0) & (magnitude < tiny))


def _take_sample(array: NDArray[Any], dtype: str) -> Float32:
    """Return the same sample without the kernel."""
    flat = array.reshape(-1)
    part = flat[:: get_sample_stride(flat.size)]
    if dtype == "bfloat16" and part.dtype.kind in "iu":
        part = (part.astype(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return part.astype(np.float32)


def get_sample_stride(size: int) -> int:
    """Return the distance between the values of a sample."""
    return max(-(-size // SAMPLE_SIZE), 1)


def get_sample_size(size: int) -> int:
    """Return the number of values in a sample, at most `SAMPLE_SIZE`."""
    return -(-size // get_sample_stride(size))


def make_row() -> Float32:
    """Return a row of a tensor that was not computed."""
    row: Float32 = _EMPTY_ROW.copy()
    return row


#: What to do when a value becomes non-finite.
OnProblem = Literal["continue", "stop", "debug"]


# ---- recording

#: Tensors of a report are stored up to this size.
MAX_STORED_BYTES = 64 << 20
#: Source files are stored up to this size and number.
_MAX_SOURCE_BYTES = 1 << 20
_MAX_SOURCE_FILES = 200
#: Reports after the first ones are mostly consequences of the first.
_MAX_REPORTS = 10


class Schedule(NamedTuple):
    """The steps to write: the first ones, and then every so many."""

    every: int
    first: int

    def includes(self, step: int) -> bool:
        return step < self.first or (self.every > 0 and step % self.every == 0)


class _Step(NamedTuple):
    step: int
    wall_time: float
    health: Float32


class Recorder:
    """Writes the recording of one process.

    Args:
        logdir: Directory of the run.
        framework: Name of the framework, such as ``torch``.
        version: Version of the framework.
        rank: Rank of the process in distributed training.
        schedule: Which steps to write.
        history: Number of steps that are kept in memory and written when something happens.
        on_problem: What to do when a value becomes non-finite.
        save_code: Whether to store the source files that the tensors are computed in.
        strict: Whether misuse raises exceptions.
    """

    def __init__(
        self,
        logdir: str,
        framework: str,
        version: str,
        *,
        rank: int = 0,
        schedule: Schedule,
        history: int,
        on_problem: OnProblem,
        save_code: bool = True,
        strict: bool | None = None,
    ) -> None:
        if on_problem not in ("continue", "stop", "debug"):
            raise ArgumentError(
                "on_problem", f'must be "continue", "stop" or "debug", not {on_problem!r}'
            )
        self.schedule = schedule
        self.history = history
        self.tensors: list[WatchedTensor] = []
        self.notes: list[Message] = []
        self._framework, self._version, self.rank = framework, version, rank
        self._on_problem = on_problem
        self._save_code = save_code
        self._index: dict[tuple[str, str], int] = {}
        self._frames: dict[SourceLocation, int] = {}
        self._saved_files: set[str] = set()
        self._steps: deque[_Step] = deque(maxlen=max(history, 1))
        self._written_tensors = -1
        self._reports = 0
        self._bad_steps = 0
        self.writer = EventWriter(logdir, filename_suffix=".debugger", strict=strict)

    def is_computed(self, step: int) -> bool:
        """Whether the health of this step is needed, to be written or to be remembered."""
        return self.history > 0 or self.schedule.includes(step)

    def find(self, name: str, role: str) -> int | None:
        return self._index.get((name, role))

    def add(self, tensor: WatchedTensor, stack: Sequence[SourceLocation] = ()) -> int:
        """Return the row of a tensor, adding it if it is new.

        Args:
            tensor: The tensor.
            stack: Where it is computed, outermost frame first.
        """
        key = tensor.name, tensor.role
        row = self._index.get(key)
        if row is None:
            row = self._index[key] = len(self.tensors)
            if stack:
                frames = self._frames
                indexes = tuple(frames.setdefault(item, len(frames)) for item in stack)
                tensor = msgspec.structs.replace(tensor, source=stack[-1], stack=indexes)
            self.tensors.append(tensor)
        return row

    def get_stack(self, row: int) -> tuple[SourceLocation, ...]:
        """Return where a tensor is computed, outermost frame first."""
        frames = list(self._frames)
        return tuple(frames[item] for item in self.tensors[row].stack)

    def end_step(
        self,
        step: int,
        health: Float32,
        *,
        is_skipped: bool = False,
        get_samples: Callable[[], Mapping[int, Float32]] | None = None,
        get_values: Callable[[int], Mapping[str, NDArray[Any]]] | None = None,
        random_state: Mapping[str, str] | None = None,
    ) -> None:
        """Record a step.

        Args:
            step: Number of the step.
            health: A row of `STATS` for each tensor; NaN in ``order`` if it was not computed.
            is_skipped: Whether the optimizer skipped the step because of infinite scaled gradients.
            get_samples: Returns some values of each tensor by row, for the histograms.
            get_values: Returns the tensors that explain a non-finite one, by description.
            random_state: State of the random number generators at the start of the step.

        Raises:
            NonFiniteError: A value became non-finite and ``on_problem`` is ``"stop"``.
        """
        has_no_finite = health[:, 6] > health[:, 7]
        health[has_no_finite, 6:8] = 0
        self._steps.append(_Step(step, time.time(), health))
        bad = self._find_bad(health, is_skipped)
        if bad is None:
            if self.schedule.includes(step):
                self._write_step(self._steps[-1], get_samples)
            return
        self._bad_steps += 1
        count = np.count_nonzero((health[:, 1:4] > 0).any(axis=1))
        self.writer.scalar(make_tag(NON_FINITE_TAG, self.rank), float(count), step)
        if self._reports >= _MAX_REPORTS:
            if self.schedule.includes(step):
                self._write_step(self._steps[-1], get_samples)
            return
        while self._steps:
            recorded = self._steps.popleft()
            if recorded.step == step:
                self._write_step(recorded, get_samples)
            elif not self.schedule.includes(recorded.step):
                self._write_step(recorded)
        self._report(step, bad, health, get_values, random_state or {})

    def log_loss_scale(self, step: int, scale: float, is_skipped: bool) -> None:
        self.writer.scalar(make_tag(LOSS_SCALE_TAG, self.rank), scale, step)
        self.writer.scalar(make_tag(SKIPPED_TAG, self.rank), float(is_skipped), step)

    def close(self) -> None:
        self.writer.close()

    def _find_bad(self, health: Float32, is_skipped: bool) -> int | None:
        """Return the tensor that was the first to become non-finite."""
        rows = list_non_finite(health, self.tensors, is_skipped)
        return trace_origin(health, self.tensors, rows) if len(rows) else None

    def _write_step(
        self, recorded: _Step, get_samples: Callable[[], Mapping[int, Float32]] | None = None
    ) -> None:
        if self._written_tensors != len(self.tensors):
            self._written_tensors = len(self.tensors)
            layout = HealthLayout(
                self._framework,
                self._version,
                self.rank,
                tuple(self.tensors),
                tuple(RecorderNote(note.code, note.text) for note in self.notes),
                tuple(self._frames),
            )
            self._write_text(LAYOUT_TAG, msgspec.json.encode(layout), recorded.step)
            if self._save_code:
                self._write_source_files(recorded.step)
        self._write(HEALTH_TAG, recorded.health, recorded.step, recorded.wall_time)
        samples = get_samples() if get_samples is not None else {}
        if samples:
            table = compute_histograms(samples, len(recorded.health))
            self._write(HISTOGRAM_TAG, table, recorded.step, recorded.wall_time)

    def _write_source_files(self, step: int) -> None:
        for path in dict.fromkeys(frame.path for frame in self._frames):
            if path in self._saved_files or len(self._saved_files) >= _MAX_SOURCE_FILES:
                continue
            self._saved_files.add(path)
            # Unlike reading the file, this also finds the cells of a notebook.
            text = "".join(linecache.getlines(path))
            if text and len(text) <= _MAX_SOURCE_BYTES:
                file = RecordedSourceFile(path, text)
                self._write_text(SOURCE_FILES_TAG, msgspec.json.encode(file), step)

    def _report(
        self,
        step: int,
        row: int,
        health: Float32,
        get_values: Callable[[int], Mapping[str, NDArray[Any]]] | None,
        random_state: Mapping[str, str],
    ) -> None:
        self._reports += 1
        stack = self.get_stack(row)
        tags = {}
        if get_values is not None and self._reports == 1:
            for name, value in get_values(row).items():
                tag = f"{VALUES_TAG}/{name}"
                if value.nbytes <= MAX_STORED_BYTES and self._write(tag, value, step):
                    tags[name] = make_tag(tag, self.rank)
        message = describe_problem(self.tensors, row, health, step, stack)
        report = HealthReport(step, row, message, stack, tags, dict(random_state))
        self._write_text(REPORT_TAG, msgspec.json.encode(report), step)
        self.writer.flush()
        if self._reports == 1:
            print(f"tracklight: {message}", file=sys.stderr, flush=True)
        if self._on_problem == "stop":
            raise NonFiniteError(message)
        if self._on_problem == "debug" and self._reports == 1:
            breakpoint()

    def _write_text(self, tag: str, text: bytes, step: int) -> None:
        self._write(tag, text, step)

    def _write(self, tag: str, value: Any, step: int, wall_time: float | None = None) -> bool:
        message = proto.Value(
            tag=make_tag(tag, self.rank).encode(),
            tensor=encode_tensor(value),
            metadata=make_metadata(PLUGIN),
        )
        return self.writer.add([message], step, wall_time)


def describe_problem(
    tensors: Sequence[WatchedTensor],
    row: int,
    health: Float32,
    step: int,
    stack: Sequence[SourceLocation] = (),
) -> str:
    """Return one sentence: which tensor became non-finite, at which step and line."""
    tensor = tensors[row]
    counts = zip(health[row, 1:4].tolist(), ("NaN", "-Inf", "+Inf"), strict=True)
    found = " and ".join(f"{count:,.0f} {name}" for count, name in counts if count > 0)
    subject = {
        "input": f'the input "{tensor.name}" contains',
        "parameter": f'the parameter "{tensor.name}" contains',
        "update": f'the update of "{tensor.name}" contains',
        "gradient": f'the gradient of "{tensor.name}" contains',
    }.get(tensor.role)
    if subject is None:
        kind = f"{tensor.type} " if tensor.type and tensor.type != tensor.name else ""
        subject = f'{kind}"{tensor.name}" produced'
    inputs = [item for item in tensor.inputs if health[item, 0] < health[row, 0]]
    origin = ""
    if inputs and not any((health[item, 1:4] > 0).any() for item in inputs):
        low = min(float(health[item, 6]) for item in inputs)
        high = max(float(health[item, 7]) for item in inputs)
        origin = f" from finite inputs between {low:.4g} and {high:.4g}"
    source = find_user_location(stack) or tensor.source
    where = ""
    if source.path:
        file = source.path.replace("\\", "/").rpartition("/")[2]
        where = f", {file}:{source.line}" + (f" in {source.function}" if source.function else "")
    return f"step {step}: {subject} {found} of {tensor.size:,} values{origin}{where}"


def find_user_location(stack: Sequence[SourceLocation]) -> SourceLocation | None:
    """Return the innermost frame outside libraries."""
    return next((item for item in reversed(stack) if not is_library_path(item.path)), None)


def make_matrix(rows: Mapping[int, Float32], count: int) -> Float32:
    """Return the health matrix of a step from the rows that were computed."""
    matrix: Float32 = np.full((count, len(STATS)), np.nan, np.float32)
    for row, values in rows.items():
        matrix[row] = values
    return matrix


# ---- stacks

_OWN_DIR = os.path.dirname(os.path.dirname(__file__)) + os.sep
_MAX_FRAMES = 50


def capture_stack() -> tuple[SourceLocation, ...]:
    """Return the frames of the user's program, outermost first; libraries are left out."""
    frames: list[SourceLocation] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(frames) < _MAX_FRAMES:
        path = frame.f_code.co_filename
        if not path.startswith(_OWN_DIR) and not is_library_path(path):
            frames.append(make_location(path, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(reversed(frames))


def make_location(path: str, line: int, function: str) -> SourceLocation:
    return SourceLocation(path, line, function, linecache.getline(path, line).strip())


# ---- selection of tensors


class TensorFilter:
    """Matches the tensors to watch.

    Args:
        names: A regular expression that may match anywhere in a name; None for all.
        types: Types of layers or operations, such as ``"Linear"``; None for all.
        dtypes: Names of dtypes, such as ``"float16"``; None for all.
    """

    def __init__(
        self,
        names: str | None = None,
        types: Iterable[str] | None = None,
        dtypes: Iterable[str] | None = None,
    ) -> None:
        try:
            self._names = None if names is None else re.compile(names)
        except re.error as error:
            raise ArgumentError("names", f"is not a regular expression: {error}") from None
        self._types = None if types is None else frozenset(type_.lower() for type_ in types)
        self._dtypes = None if dtypes is None else frozenset(str(dtype) for dtype in dtypes)

    def matches(self, name: str, kind: str, dtype: str) -> bool:
        return (
            (self._names is None or self._names.search(name) is not None)
            and (self._types is None or not kind or kind.lower() in self._types)
            and (self._dtypes is None or dtype in self._dtypes)
        )
