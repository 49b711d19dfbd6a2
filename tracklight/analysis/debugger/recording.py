"""Recordings of ``tracklight.debugger``: read them from event files, and find what went wrong.

`Recording` reads, `RecordingAnalysis` derives the alerts and the root cause.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.debugger import (
    AlertKind,
    HealthAlert,
    InputSummary,
    RootCause,
    SourceLine,
    find_hint,
    get_non_finite_kind,
    make_translatable,
)
from tracklight.analysis.source import Source
from tracklight.errors import FormatError, Message, TagNotFoundError
from tracklight.formats import proto
from tracklight.formats.tensor import decode_tensor
from tracklight.formats.tensor_health import (
    HEALTH_TAG,
    HISTOGRAM_BINS,
    HISTOGRAM_TAG,
    LAYOUT_TAG,
    LOSS_SCALE_TAG,
    PLUGIN,
    REPORT_TAG,
    SKIPPED_TAG,
    SOURCE_FILES_TAG,
    STAT_INDEX,
    STATS,
    HealthLayout,
    HealthReport,
    RecordedSourceFile,
    SourceLocation,
    WatchedTensor,
    list_non_finite,
    make_tag,
    trace_origin,
)
from tracklight.types import Bool, Float32, Float64, Int64, Series
from tracklight.util.parsing import is_library_path

#: The columns of a health matrix that are read as integers.
_COUNTS = [STAT_INDEX[name] for name in ("nan", "neg_inf", "pos_inf", "zeros", "negatives")]


class RecordingKey(NamedTuple):
    """A recording: one per run and process."""

    run: str
    rank: int

    @property
    def name(self) -> str:
        return self.run if self.rank == 0 else f"{self.run} (rank {self.rank})"


def iter_recordings(source: Source) -> Iterator[RecordingKey]:
    """Yield the recordings of a log."""
    for run in source.runs():
        yield from _iter_ranks(source, run.name)


def _iter_ranks(source: Source, run: str) -> Iterator[RecordingKey]:
    for info in source.tags(run):
        if info.plugin == PLUGIN and info.tag.endswith(f"/{LAYOUT_TAG}"):
            rank = info.tag.split("/")[1].removeprefix("rank")
            yield RecordingKey(run, int(rank) if rank.isdigit() else 0)


class Recording:
    """A recording as of when it was opened.

    Args:
        source: The log.
        key: The recording.

    Raises:
        FormatError: The recording has no valid layout.
    """

    def __init__(self, source: Source, key: RecordingKey) -> None:
        self._source = source
        self.key = key
        texts = self._read_texts(LAYOUT_TAG)
        if not texts:
            raise FormatError(f'The recording of "{key.name}" has no layout')
        try:
            self.layout = msgspec.json.decode(texts[-1], type=HealthLayout)
        except msgspec.MsgspecError as error:
            raise FormatError(f'The layout of "{key.name}" is invalid: {error}') from None
        count = len(self.layout.tensors)
        for tensor in self.layout.tensors:
            for row in (*tensor.inputs, max(tensor.of, 0)):
                if not 0 <= row < count:
                    raise FormatError(
                        f'The layout of "{key.name}" is invalid: "{tensor.name}" refers to tensor '
                        f"{row} of {count}"
                    )

    def iter_other_ranks(self) -> Iterator[Recording]:
        """Yield the recordings of the other processes of the same program."""
        for key in _iter_ranks(self._source, self.key.run):
            if key != self.key:
                with contextlib.suppress(FormatError):
                    yield Recording(self._source, key)

    @property
    def framework(self) -> str:
        return self.layout.framework

    @cached_property
    def _table(self) -> tuple[Int64, Float64, Float32]:
        """Steps, wall times and health (steps, tensors, stats), without overwritten steps."""
        count = len(self.layout.tensors)
        try:
            locations = self._source.locate(self.key.run, make_tag(HEALTH_TAG, self.key.rank))
        except TagNotFoundError:  # the layout is written first
            return np.empty(0, np.int64), np.empty(0), np.empty((0, count, len(STATS)), np.float32)
        # A step that was recorded again after a restart replaces the first recording.
        last = {int(step): index for index, step in enumerate(locations.step.tolist())}
        indexes = [last[step] for step in sorted(last)]
        health: Float32 = np.full((len(indexes), count, len(STATS)), np.nan, np.float32)
        for row, data in enumerate(self._source.read_many(locations, indexes)):
            matrix = _decode(data)
            if matrix is None or matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
                continue
            rows, columns = min(len(matrix), count), min(matrix.shape[1], len(STATS))
            health[row, :rows, :columns] = matrix[:rows, :columns]
        # A tensor with a count that is not finite was damaged; take it for one not computed.
        health[~np.isfinite(health[:, :, _COUNTS]).all(axis=2)] = np.nan
        step = np.array([int(locations.step[item]) for item in indexes], np.int64)
        wall_time = np.array([float(locations.wall_time[item]) for item in indexes], np.float64)
        return step, wall_time, health

    @property
    def step(self) -> Int64:
        return self._table[0]

    @property
    def wall_time(self) -> Float64:
        return self._table[1]

    @property
    def health(self) -> Float32:
        """Statistics (steps, tensors, `STATS`); NaN where a tensor was not computed."""
        return self._table[2]

    def find_wall_time(self, step: int) -> float | None:
        """Return when a step was recorded."""
        rows = np.flatnonzero(self.step == step)
        return float(self.wall_time[rows[0]]) if len(rows) else None

    def get_stat(self, name: str) -> Float32:
        """Return one statistic (steps, tensors)."""
        return self.health[:, :, STAT_INDEX[name]]

    @cached_property
    def reports(self) -> list[HealthReport]:
        reports = []
        for text in self._read_texts(REPORT_TAG):
            try:
                reports.append(msgspec.json.decode(text, type=HealthReport))
            except msgspec.MsgspecError:
                continue
        return [report for report in reports if 0 <= report.tensor < len(self.layout.tensors)]

    @cached_property
    def loss_scale(self) -> Series | None:
        return self._find_scalar(LOSS_SCALE_TAG)

    @cached_property
    def skipped_steps(self) -> set[int]:
        """Steps that the optimizer skipped because of infinite scaled gradients."""
        series = self._find_scalar(SKIPPED_TAG)
        return set() if series is None else set(series.step[series.value > 0].tolist())

    @cached_property
    def source_files(self) -> dict[str, str]:
        """Texts of the files of the user's program, by path."""
        files = {}
        for text in self._read_texts(SOURCE_FILES_TAG):
            try:
                file = msgspec.json.decode(text, type=RecordedSourceFile)
            except msgspec.MsgspecError:
                continue
            files[file.path] = file.text
        return files

    def get_stack(self, tensor: int) -> list[SourceLocation]:
        """Return where a tensor is computed, outermost frame first."""
        frames, watched = self.layout.frames, self.layout.tensors[tensor]
        stack = [frames[item] for item in watched.stack if 0 <= item < len(frames)]
        return stack or ([watched.source] if watched.source.path else [])

    def read_histograms(self, tensor: int, limit: int) -> tuple[Int64, NDArray[np.uint8]]:
        """Return steps and histograms (steps, bins) of a tensor.

        Args:
            tensor: Row of the tensor.
            limit: Number of steps to read, at equal distances and with the last one.
        """
        empty = np.empty(0, np.int64), np.empty((0, HISTOGRAM_BINS), np.uint8)
        try:
            tag = make_tag(HISTOGRAM_TAG, self.key.rank)
            locations = self._source.locate(self.key.run, tag)
        except TagNotFoundError:
            return empty
        last = {int(step): index for index, step in enumerate(locations.step.tolist())}
        steps = sorted(last)
        chosen = np.unique(np.linspace(0, len(steps) - 1, min(limit, len(steps))).round())
        steps = [steps[int(item)] for item in chosen]
        found, rows = [], []
        tables = self._source.read_many(locations, [last[step] for step in steps])
        for step, data in zip(steps, tables, strict=True):
            table = _decode(data)
            if table is None or table.ndim != 2 or table.shape[1] != HISTOGRAM_BINS:
                continue
            if tensor < len(table) and table[tensor].any():
                found.append(step)
                rows.append(table[tensor])
        return (np.array(found, np.int64), np.array(rows, np.uint8)) if rows else empty

    def read_value(self, tag: str) -> NDArray[np.generic] | None:
        """Return a tensor that belongs to a report."""
        try:
            locations = self._source.locate(self.key.run, tag)
        except TagNotFoundError:
            return None
        return _decode(self._source.read(locations, len(locations.step) - 1))

    def _find_scalar(self, tag: str) -> Series | None:
        try:
            return self._source.scalar(self.key.run, make_tag(tag, self.key.rank))
        except TagNotFoundError:
            return None

    def _read_texts(self, tag: str) -> list[bytes]:
        try:
            locations = self._source.locate(self.key.run, make_tag(tag, self.key.rank))
        except TagNotFoundError:
            return []
        values = self._source.read_many(locations, range(len(locations.step)))
        arrays = [_decode(value) for value in values]
        return [bytes(array.ravel()[0]) for array in arrays if array is not None and array.size]


def _decode(data: bytes) -> NDArray[np.generic] | None:
    try:
        return decode_tensor(proto.parse("Value", data).tensor)
    except FormatError:
        return None


# ---- analysis


#: Gradual problems are reported if they last for this many recorded steps.
_MIN_STEPS = 5
#: A gradient this many times larger than its median in the first steps explodes.
_EXPLODING_RATIO = 1e3
#: A gradient above this norm explodes even if it was as large from the beginning.
_EXPLODING_NORM = 1e5
_BASELINE_STEPS = 10
#: Gradient per element, relative to the largest one of all weights.
_VANISHING_RATIO = 1e-7
_VANISHING_SHARE = 0.8
_DEAD_SHARE = 0.9
_UNDERFLOW_SHARE = 0.5
#: Skipped steps in a row after which the loss scale has collapsed.
_MIN_SKIPPED = 5
#: What a process computes by itself; gradients, updates and parameters are shared with others.
_FORWARD_ROLES = ("input", "output", "loss")
#: Values that grew by this factor within the recorded steps hint at the learning rate.
_GROWTH_RATIO = 1e4

_HINTS = {
    AlertKind.EXPLODING_GRADIENT: Message(
        "debugger.hint_exploding_gradient",
        "Clip gradients, lower the learning rate, or add normalization.",
    ),
    AlertKind.VANISHING_GRADIENT: Message(
        "debugger.hint_vanishing_gradient",
        "Early layers hardly learn. Use residual connections, normalization, another activation "
        "or a gated recurrent unit.",
    ),
    AlertKind.DEAD_UNITS: Message(
        "debugger.hint_dead_units",
        "These units are zero for all inputs and get no gradient. Lower the learning rate, use "
        "LeakyReLU or GELU, or check the bias of the layer before.",
    ),
    AlertKind.CONSTANT_OUTPUT: Message(
        "debugger.hint_constant_output",
        "The layer ignores its input. Check its weights and initialization.",
    ),
    AlertKind.OVERFLOW: Message(
        "debugger.hint_overflow",
        "Values reach the maximum of the dtype. Use bfloat16 or scale them down.",
    ),
    AlertKind.UNDERFLOW: Message(
        "debugger.hint_underflow",
        "Gradients are too small for the dtype. Use loss scaling or bfloat16.",
    ),
    AlertKind.LOSS_SCALE: Message(
        "debugger.hint_loss_scale",
        "Scaled gradients are not finite at any scale, so the model itself produces NaN or Inf. "
        "Look at the first non-finite gradient.",
    ),
}


class RecordingAlerts(Sequence[HealthAlert]):
    """All alerts of a recording in chronological order."""

    def __init__(self, alerts: Sequence[HealthAlert]) -> None:
        self._alerts = sorted(alerts, key=lambda item: (item.step or 0, item.wall_time))

    def __len__(self) -> int:
        return len(self._alerts)

    def __getitem__(self, index: int) -> HealthAlert:  # type: ignore[override]
        return self._alerts[index]

    def count_kinds(self) -> dict[str, int]:
        return {kind.value: count for kind, count in Counter(item.kind for item in self).items()}


class RecordingAnalysis:
    """What went wrong in a recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    @cached_property
    def _tensors(self) -> tuple[WatchedTensor, ...]:
        return self.recording.layout.tensors

    @cached_property
    def _is_bad(self) -> Bool:
        """Where a tensor is non-finite (steps, tensors), without skipped steps and masks."""
        recording, skipped = self.recording, self.recording.skipped_steps
        bad: Bool = np.zeros(recording.health.shape[:2], bool)
        for row in np.flatnonzero((recording.health[:, :, 1:4] > 0).any(axis=(1, 2))).tolist():
            is_skipped = int(recording.step[row]) in skipped
            bad[row, list_non_finite(recording.health[row], self._tensors, is_skipped)] = True
        return bad

    def _has_role(self, *roles: str) -> Bool:
        result: Bool = np.array([tensor.role in roles for tensor in self._tensors], bool)
        return result

    @cached_property
    def alerts(self) -> RecordingAlerts:
        return RecordingAlerts(
            [
                *self._iter_non_finite(),
                *self._iter_exploding(),
                *self._iter_vanishing(),
                *self._iter_dead(),
                *self._iter_constant(),
                *self._iter_half_precision(),
                *self._iter_loss_scale(),
            ]
        )

    @cached_property
    def root_cause(self) -> RootCause | None:
        """The first non-finite tensor, or else the gradual problem that began first.

        If the gradients of another process made this one non-finite, the hint says so.
        """
        cause, spread = self._own_cause, self.cause_in_other_rank
        if cause is None or spread is None:
            return cause
        rank, other = spread
        hint = Message.format(
            "debugger.hint_other_rank",
            'The cause is in rank {rank}: "{tensor}" is not finite at step {step}, and averaged '
            "gradients spread that to all ranks.",
            rank=rank,
            tensor=other.op_name,
            step=other.step or 0,
        )
        text, code, args = make_translatable(hint)
        return msgspec.structs.replace(cause, hint=text, hint_code=code, hint_args=args)

    @cached_property
    def cause_in_other_rank(self) -> tuple[int, RootCause] | None:
        """The rank and the problem of another process from which that of this one follows."""
        cause = self._own_cause
        is_spread = (
            cause is not None and cause.kind.is_non_finite and cause.role not in _FORWARD_ROLES
        )
        if cause is None or not is_spread:
            return None
        for recording in self.recording.iter_other_ranks():
            other = RecordingAnalysis(recording)._own_cause
            if (
                other is not None
                and other.kind.is_non_finite
                and other.role in _FORWARD_ROLES
                and (other.step or 0) <= (cause.step or 0)
            ):
                return recording.key.rank, other
        return None

    @cached_property
    def _own_cause(self) -> RootCause | None:
        """The root cause as far as this process can tell."""
        bad_steps = np.flatnonzero(self._is_bad.any(axis=1))
        alerts = self.alerts
        if len(bad_steps):
            return self._explain_non_finite(int(bad_steps[0]))
        order = [AlertKind.LOSS_SCALE, AlertKind.EXPLODING_GRADIENT, AlertKind.DEAD_UNITS]
        gradual = sorted(
            alerts, key=lambda item: order.index(item.kind) if item.kind in order else len(order)
        )
        return self._explain_gradual(gradual[0], len(alerts) - 1) if gradual else None

    # ---- non-finite values

    def _iter_non_finite(self) -> Iterator[HealthAlert]:
        recording = self.recording
        rows, tensors = np.nonzero(self._is_bad)
        order = recording.health[rows, tensors, 0]
        for index in np.lexsort((order, rows)).tolist():
            row, tensor = int(rows[index]), int(tensors[index])
            watched = self._tensors[tensor]
            _, nan, neg_inf, pos_inf = recording.health[row, tensor, :4].tolist()
            yield HealthAlert(
                kind=get_non_finite_kind(int(nan), int(neg_inf), int(pos_inf)),
                op_type=watched.type,
                op_name=watched.name,
                output_slot=0,
                # Tensors of a step have the same time; keep them in the order of computation.
                wall_time=float(recording.wall_time[row]) + 1e-6 * float(order[index]),
                step=int(recording.step[row]),
                size=watched.size,
                nan=int(nan),
                neg_inf=int(neg_inf),
                pos_inf=int(pos_inf),
                dtype=watched.dtype,
                role=watched.role,
                tensor=tensor,
            )

    def _explain_non_finite(self, row: int) -> RootCause:
        recording = self.recording
        step = int(recording.step[row])
        report = next((item for item in recording.reports if item.step == step), None)
        tensor = report.tensor if report is not None else self._locate_origin(row)
        watched = self._tensors[tensor]
        health = recording.health[row, tensor]
        stack = [make_source_line(item) for item in report.stack] if report is not None else []
        source = stack[-1] if stack else make_source_line(watched.source)
        hint = self._find_growth(row, tensor) or find_hint(
            self._get_hint_type(watched), watched.role
        )
        text, code, args = make_translatable(hint) if hint is not None else ("", "", {})
        return RootCause(
            kind=get_non_finite_kind(*(int(item) for item in health[1:4])),
            op_type=watched.type,
            op_name=watched.name,
            message=_make_message(report, watched, health, step),
            hint=text,
            hint_code=code,
            hint_args=args,
            role=watched.role,
            tensor=tensor,
            dtype=watched.dtype,
            size=watched.size,
            nan=int(health[1]),
            neg_inf=int(health[2]),
            pos_inf=int(health[3]),
            step=step,
            inputs=tuple(self._describe_input(row, item) for item in watched.inputs),
            source=source if source.path else None,
            stack=tuple(stack),
            followers=len(self.alerts) - 1,
            is_certain=row > 0 or step == 0,
        )

    def _get_hint_type(self, watched: WatchedTensor) -> str:
        """Return the type to find a hint for; JAX computes 1 / sqrt(x) for the gradient of sqrt."""
        types = [self._tensors[item].type for item in watched.inputs]
        if watched.type == "div" and types and all(type_ in ("sqrt", "pow") for type_ in types):
            return f"{types[0]} backward"
        return watched.type or watched.name

    def _locate_origin(self, row: int) -> int:
        health, skipped = self.recording.health[row], self.recording.skipped_steps
        is_skipped = int(self.recording.step[row]) in skipped
        rows = list_non_finite(health, self._tensors, is_skipped)
        return trace_origin(health, self._tensors, rows)

    def _describe_input(self, row: int, tensor: int) -> InputSummary:
        watched, health = self._tensors[tensor], self.recording.health[row, tensor]
        if np.isnan(health[0]) or watched.role == "parameter":
            # Parameters are recorded at the end of a step: look at the step before.
            earlier = self.recording.health[:row, tensor]
            known = np.flatnonzero(~np.isnan(earlier[:, 0]))
            if not len(known):
                return InputSummary(watched.name, None, size=watched.size, dtype=watched.dtype)
            health = earlier[known[-1]]
        return InputSummary(
            name=watched.name,
            is_finite=not (health[1:4] > 0).any(),
            min=float(health[STAT_INDEX["min"]]),
            max=float(health[STAT_INDEX["max"]]),
            zeros=int(health[STAT_INDEX["zeros"]]),
            negatives=int(health[STAT_INDEX["negatives"]]),
            size=watched.size,
            shape=watched.shape,
            dtype=watched.dtype,
        )

    def _find_growth(self, row: int, tensor: int) -> Message | None:
        """Return a sentence if values grew by orders of magnitude before they overflowed."""
        if row < 2:
            return None
        norm = self.recording.get_stat("norm")[:row]
        rows = [
            item
            for item in (tensor, *self._tensors[tensor].inputs)
            if self._tensors[item].role != "input"
        ]
        for item in rows:
            values = norm[:, item]
            known = np.flatnonzero(np.isfinite(values) & (values > 0))
            if len(known) < 2:
                continue
            first, last = float(np.min(values[known])), float(values[known[-1]])
            if last / first >= _GROWTH_RATIO:
                steps = self.recording.step
                begin = int(steps[known[int(np.argmin(values[known]))]])
                return Message.format(
                    "debugger.hint_growth",
                    'The norm of "{tensor}" grew from {first} to {last} between steps {begin} and '
                    "{end}. Lower the learning rate, warm it up, or clip gradients.",
                    tensor=self._tensors[item].name,
                    first=f"{first:.3g}",
                    last=f"{last:.3g}",
                    begin=begin,
                    end=int(steps[known[-1]]),
                )
        return None

    # ---- gradual problems

    def _iter_exploding(self) -> Iterator[HealthAlert]:
        norm = self.recording.get_stat("norm")
        parameters = self._tensors
        for tensor in np.flatnonzero(self._has_role("gradient")).tolist():
            of = parameters[tensor].of
            if of >= 0 and parameters[of].role != "parameter":
                continue  # gradients of JAX belong to no tensor
            values = norm[:, tensor]
            known = np.flatnonzero(np.isfinite(values) & ~self._is_bad[:, tensor])
            if len(known) < _MIN_STEPS:
                continue
            baseline = float(np.median(values[known[:_BASELINE_STEPS]]))
            limit = min(max(_EXPLODING_RATIO * baseline, 1.0), _EXPLODING_NORM)
            beyond = known[values[known] > limit]
            if len(beyond) < 2:
                continue
            message = Message.format(
                "debugger.norm_exploded",
                "The norm is {norm}; it was {baseline} at first.",
                norm=f"{values[beyond[0]]:.3g}",
                baseline=f"{baseline:.3g}",
            )
            yield self._make_alert(AlertKind.EXPLODING_GRADIENT, int(beyond[0]), tensor, message)

    def _iter_vanishing(self) -> Iterator[HealthAlert]:
        rows = [
            row
            for row, tensor in enumerate(self._tensors)
            if tensor.role == "gradient"
            and tensor.of >= 0
            and self._tensors[tensor.of].role == "parameter"
            and len(tensor.shape) > 1
        ]
        if len(rows) < 2 or len(self.recording.step) < _MIN_STEPS:
            return
        sizes = np.array([max(self._tensors[row].size, 1) for row in rows])
        density = self.recording.get_stat("norm")[:, rows] / np.sqrt(sizes)
        with np.errstate(all="ignore"):
            largest = np.nanmax(np.where(np.isfinite(density), density, 0), axis=1, keepdims=True)
            is_small = (density < _VANISHING_RATIO * largest) & (largest > 0)
        known = np.isfinite(density).sum(axis=0)
        is_vanishing = is_small.sum(axis=0) >= _VANISHING_SHARE * np.maximum(known, 1)
        ratios = density / np.where(largest > 0, largest, 1)
        # The smallest gradient first: that is where to look.
        for index in np.argsort(np.nan_to_num(ratios).max(axis=0)).tolist():
            if known[index] < _MIN_STEPS or not is_vanishing[index]:
                continue
            first = int(np.flatnonzero(is_small[:, index])[0])
            ratio = ratios[first, index]
            message = Message.format(
                "debugger.gradient_vanished",
                "The gradient is {ratio} of the largest one.",
                ratio=f"{ratio:.1e}",
            )
            yield self._make_alert(AlertKind.VANISHING_GRADIENT, first, rows[index], message)

    def _iter_dead(self) -> Iterator[HealthAlert]:
        dead = self.recording.get_stat("dead")
        for tensor, watched in enumerate(self._tensors):
            if watched.channels <= 1 or watched.role != "output":
                continue
            known = np.flatnonzero(np.isfinite(dead[:, tensor]))
            share = dead[known, tensor] / watched.channels
            first = _find_lasting(share >= _DEAD_SHARE)
            if first is None:
                continue
            count = int(dead[known[-1], tensor])
            message = Message.format(
                "debugger.units_dead",
                "{count} of {channels} units are zero for all inputs.",
                count=f"{count:,}",
                channels=f"{watched.channels:,}",
            )
            yield self._make_alert(AlertKind.DEAD_UNITS, int(known[first]), tensor, message)

    def _iter_constant(self) -> Iterator[HealthAlert]:
        std, high = self.recording.get_stat("std"), self.recording.get_stat("max")
        low, zeros = self.recording.get_stat("min"), self.recording.get_stat("zeros")
        for tensor, watched in enumerate(self._tensors):
            is_layer = watched.role == "output" and watched.type[:1].isupper()
            if not is_layer or watched.size < 2 or watched.channels:
                continue
            known = np.flatnonzero(np.isfinite(std[:, tensor]) & ~self._is_bad[:, tensor])
            is_constant = high[known, tensor] == low[known, tensor]
            first = _find_lasting(is_constant)
            if first is None or len(known) < 2 * _MIN_STEPS:
                continue
            value = float(high[known[-1], tensor])
            is_zero = zeros[known[-1], tensor] == watched.size
            message = Message.format(
                "debugger.output_constant",
                "All values are {value}.",
                value=f"{0 if is_zero else value:.4g}",
            )
            yield self._make_alert(AlertKind.CONSTANT_OUTPUT, int(known[first]), tensor, message)

    def _iter_half_precision(self) -> Iterator[HealthAlert]:
        overflow = self.recording.get_stat("overflow")
        underflow = self.recording.get_stat("underflow")
        zeros = self.recording.get_stat("zeros")
        for tensor, watched in enumerate(self._tensors):
            if watched.dtype not in ("float16", "bfloat16"):
                continue
            beyond = np.flatnonzero((overflow[:, tensor] > 0) & ~self._is_bad[:, tensor])
            beyond = self._without_skipped(beyond)
            if len(beyond):
                message = Message.format(
                    "debugger.values_overflowed",
                    "{count} values are at the maximum.",
                    count=f"{overflow[beyond[0], tensor]:,.0f}",
                )
                yield self._make_alert(AlertKind.OVERFLOW, int(beyond[0]), tensor, message)
            if watched.role != "gradient":
                continue
            nonzero = np.maximum(watched.size - zeros[:, tensor], 1)
            known = np.flatnonzero(np.isfinite(underflow[:, tensor]))
            share = (underflow[:, tensor] / nonzero)[known]
            first = _find_lasting(share >= _UNDERFLOW_SHARE)
            if first is not None:
                message = Message.format(
                    "debugger.values_underflowed",
                    "{share} of the nonzero values are subnormal.",
                    share=f"{share[first]:.0%}",
                )
                yield self._make_alert(AlertKind.UNDERFLOW, int(known[first]), tensor, message)

    def _iter_loss_scale(self) -> Iterator[HealthAlert]:
        series = self.recording.loss_scale
        if series is None:
            return
        run = 0
        for step, wall_time, scale in zip(series.step, series.wall_time, series.value, strict=True):
            run = run + 1 if int(step) in self.recording.skipped_steps else 0
            if run == _MIN_SKIPPED:
                message = Message.format(
                    "debugger.loss_scale_fell",
                    "{count} steps in a row were skipped; the loss scale fell to {scale}.",
                    count=run,
                    scale=f"{scale:g}",
                )
                text, code, args = make_translatable(message)
                yield HealthAlert(
                    AlertKind.LOSS_SCALE,
                    "",
                    "loss scale",
                    0,
                    float(wall_time),
                    int(step),
                    message=text,
                    code=code,
                    args=args,
                )
                return

    def _without_skipped(self, rows: Int64) -> Int64:
        skipped = self.recording.skipped_steps
        return np.array(
            [row for row in rows if int(self.recording.step[row]) not in skipped], np.int64
        )

    def _make_alert(self, kind: AlertKind, row: int, tensor: int, message: Message) -> HealthAlert:
        watched = self._tensors[tensor]
        text, code, args = make_translatable(message)
        return HealthAlert(
            kind=kind,
            op_type=watched.type,
            op_name=watched.name,
            output_slot=0,
            wall_time=float(self.recording.wall_time[row]),
            step=int(self.recording.step[row]),
            size=watched.size,
            dtype=watched.dtype,
            role=watched.role,
            tensor=tensor,
            message=text,
            code=code,
            args=args,
        )

    def _explain_gradual(self, alert: HealthAlert, followers: int) -> RootCause:
        found = [tensor for tensor in self._tensors if tensor.name == alert.op_name]
        source = next((make_source_line(item.source) for item in found if item.source.path), None)
        if alert.kind == AlertKind.LOSS_SCALE:
            message = alert.message
        else:
            subject = (
                f'{alert.op_type} "{alert.op_name}"' if alert.op_type else f'"{alert.op_name}"'
            )
            message = f"{subject}: {alert.message}"
        hint = _HINTS.get(alert.kind)
        text, code, _ = make_translatable(hint) if hint is not None else ("", "", {})
        return RootCause(
            kind=alert.kind,
            op_type=alert.op_type,
            op_name=alert.op_name,
            message=f"Step {alert.step}: {message}",
            detail=alert.message,
            code=alert.code,
            args=alert.args,
            hint=text,
            hint_code=code,
            role=alert.role,
            tensor=alert.tensor,
            dtype=alert.dtype,
            size=alert.size,
            step=alert.step,
            source=source,
            followers=followers,
        )


def _find_lasting(condition: Bool) -> int | None:
    """Return the first step of a condition that lasts until the end, for long enough."""
    if len(condition) < _MIN_STEPS or not condition[-_MIN_STEPS:].all():
        return None
    false = np.flatnonzero(~condition)
    return int(false[-1]) + 1 if len(false) else 0


def make_source_line(location: SourceLocation) -> SourceLine:
    """Return a location for the user."""
    path = location.path
    return SourceLine(path, location.line, location.function, location.code, is_library_path(path))


def _make_message(
    report: HealthReport | None, watched: WatchedTensor, health: Float32, step: int
) -> str:
    if report is not None:
        return f"{report.message[:1].upper()}{report.message[1:]}."
    names = ("NaN", "-Inf", "+Inf")
    counts = " and ".join(
        f"{item:,.0f} {name}" for item, name in zip(health[1:4], names, strict=True) if item
    )
    role = "gradient of " if watched.role == "gradient" else ""
    return f'Step {step}: {role}"{watched.name}" contains {counts} of {watched.size:,} values.'
