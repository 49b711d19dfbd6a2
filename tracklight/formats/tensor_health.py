"""How ``tracklight.debugger`` stores the health of tensors in event files.

A run has these tags of the plugin `PLUGIN`, with a prefix per process (`make_tag`):

- ``layout``: a JSON text (`HealthLayout`) that says which tensors are watched. Tensors are only
  appended, so the last layout also describes all rows written before.
- ``health``: for each recorded step, a matrix with a row per tensor and the columns `STATS`.
- ``histograms``: for steps of the schedule, a matrix with a row per tensor and `HISTOGRAM_BINS`
  columns, see `compute_histogram`.
- ``source_files``: a JSON text (`RecordedSourceFile`) for each file of the user's program.
- ``report``: a JSON text (`HealthReport`) for a step at which a value became non-finite.
- ``values/<name>``: tensors that belong to a report.

``loss_scale`` and ``skipped_step`` are ordinary scalars of mixed-precision training;
``non_finite`` counts non-finite tensors at steps with problems, for charts and alert rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from tracklight.types import Float32, Float64, Int64

PLUGIN = "tracklight_debugger"
LAYOUT_TAG, HEALTH_TAG, REPORT_TAG = "layout", "health", "report"
VALUES_TAG = "values"
HISTOGRAM_TAG, SOURCE_FILES_TAG = "histograms", "source_files"
LOSS_SCALE_TAG, SKIPPED_TAG = "loss_scale", "skipped_step"
NON_FINITE_TAG = "non_finite"

#: Columns of the health matrix. ``order`` numbers the tensors of a step as they were computed; it
#: is NaN for tensors that were not computed in that step. Counts are exact up to 2 ** 24.
#: ``overflow`` counts elements at or beyond the largest number of a 16-bit type, ``underflow``
#: nonzero elements below its smallest normal number, ``dead`` channels that are zero everywhere.
#: ``min`` to ``norm`` are of the finite elements.
STATS = (
    "order",
    "nan",
    "neg_inf",
    "pos_inf",
    "zeros",
    "negatives",
    "min",
    "max",
    "mean",
    "std",
    "norm",
    "overflow",
    "underflow",
    "dead",
)
_MASK_WORDS = ("mask", "full", "where", "triu", "tril", "select")
STAT_INDEX = {name: index for index, name in enumerate(STATS)}

#: Bins of a histogram: the negative ones from large to small magnitudes, one around zero, and the
#: positive ones. Each covers a factor of 4; values beyond the last one are counted there.
HISTOGRAM_BINS = 65
_SIDE_BINS = HISTOGRAM_BINS // 2
_MIN_EXPONENT = -40
_SIDE_BIN = np.clip((np.arange(256) - 126 - _MIN_EXPONENT) // 2 + 1, 0, _SIDE_BINS)
#: The bin of a float32, by the bits of its sign and exponent; infinities and NaN have one of their
#: own after the others.
_BIN = np.concatenate([_SIDE_BINS + _SIDE_BIN, _SIDE_BINS - _SIDE_BIN])
_BIN[[255, 511]] = HISTOGRAM_BINS

#: What a tensor is: an input of the model, an output of a layer or operation, the loss, a gradient
#: of one of these, a parameter, or the change of a parameter by the optimizer.
ROLES = ("input", "output", "loss", "gradient", "parameter", "update")


class SourceLocation(msgspec.Struct, frozen=True):
    """A line of the user's program."""

    path: str = ""
    line: int = 0
    function: str = ""
    code: str = ""


class WatchedTensor(msgspec.Struct, frozen=True):
    """A row of the health matrix."""

    name: str
    role: str
    type: str = ""
    """Class of the layer, or name of the operation."""
    dtype: str = ""
    size: int = 0
    shape: tuple[int, ...] = ()
    channels: int = 0
    """Number of units that can be dead; 0 if that is not counted."""
    inputs: tuple[int, ...] = ()
    """Rows of the tensors that it was computed from."""
    of: int = -1
    """For gradients and updates, the row of the tensor that they belong to."""
    source: SourceLocation = SourceLocation()
    stack: tuple[int, ...] = ()
    """Frames of the user's program, outermost first, as indexes into `HealthLayout.frames`."""


class RecorderNote(msgspec.Struct, frozen=True):
    """What a recording does not contain, for the user; the page translates it by its code."""

    code: str
    text: str


class HealthLayout(msgspec.Struct, frozen=True):
    """The tensors that a process watches."""

    framework: str
    version: str = ""
    rank: int = 0
    tensors: tuple[WatchedTensor, ...] = ()
    notes: tuple[RecorderNote, ...] = ()
    frames: tuple[SourceLocation, ...] = ()


class RecordedSourceFile(msgspec.Struct, frozen=True):
    """A file of the user's program as it was when it ran."""

    path: str
    text: str


class HealthReport(msgspec.Struct, frozen=True):
    """A step at which a value became non-finite."""

    step: int
    tensor: int
    """Row of the first non-finite tensor that was computed from finite ones."""
    message: str
    stack: tuple[SourceLocation, ...] = ()
    values: dict[str, str] = {}
    """Tags of stored tensors, by description."""
    random_state: dict[str, str] = {}
    """Encoded states of random number generators at the start of the step."""


def list_non_finite(
    health: Float32, tensors: Sequence[WatchedTensor], is_skipped: bool = False
) -> Int64:
    """Return the rows of a step that are non-finite by mistake, in the order of computation.

    Left out are masks of -Inf, what is computed from them without becoming NaN or +Inf, inputs and
    constants of which only finite values are used, and the gradients of a step that the optimizer
    skipped.

    Args:
        health: The health matrix of the step.
        tensors: The tensors of its rows.
        is_skipped: Whether the optimizer skipped the step because of infinite scaled gradients.
    """
    rows = np.flatnonzero((health[:, 1:4] > 0).any(axis=1))
    rows = rows[np.argsort(health[rows, 0], kind="stable")]
    masks: set[int] = set()
    found = []
    unused = _list_unused_inputs(health, tensors, set(rows.tolist()))
    for row in rows.tolist():
        tensor = tensors[row]
        if row in unused:
            continue
        if _is_mask(health[row], tensor) or (
            not masks.isdisjoint(tensor.inputs) and not health[row, 1] and not health[row, 3]
        ):
            masks.add(row)
        elif not (is_skipped and tensor.role == "gradient"):
            found.append(row)
    return np.array(found, np.int64)


def _list_unused_inputs(
    health: Float32, tensors: Sequence[WatchedTensor], bad: set[int]
) -> set[int]:
    """Return non-finite inputs and constants from which only finite tensors were computed.

    Missing values may be marked by NaN, and left out by the program. ``jnp.var`` selects between
    the variance and a constant NaN. The gradient of a weight is computed from the input that the
    weight is multiplied with; it may be NaN where the output is not, as some implementations of
    ReLU return 0 for NaN.
    """
    given = [row for row in bad if tensors[row].role == "input" or _is_constant(tensors[row])]
    uses: dict[int, list[int]] = {row: [] for row in given}
    if uses:
        for row, tensor in enumerate(tensors):
            if not np.isnan(health[row, 0]):
                for key in uses.keys() & set(tensor.inputs):
                    uses[key].append(row)
        gradients = {item.of: row for row, item in enumerate(tensors) if item.role == "gradient"}
        for users in uses.values():
            weights = {item for row in users for item in tensors[row].inputs}
            weights = {weight for weight in weights if tensors[weight].role == "parameter"}
            users += [gradients[weight] for weight in weights if weight in gradients]
    return {row for row, users in uses.items() if users and bad.isdisjoint(users)}


def _is_constant(tensor: WatchedTensor) -> bool:
    return tensor.role == "output" and not tensor.inputs


def _is_mask(row: Float32, tensor: WatchedTensor) -> bool:
    """Whether -Inf was put into a tensor on purpose."""
    _, nan, _, pos_inf = row[:4]
    if nan or pos_inf or tensor.role not in ("input", "output"):
        return False
    kind = tensor.type.lower()
    is_constant = not row[STAT_INDEX["min"]] < row[STAT_INDEX["max"]]
    is_given = tensor.role == "input" or not tensor.inputs
    return any(word in kind for word in _MASK_WORDS) or (is_given and is_constant)


def trace_origin(health: Float32, tensors: Sequence[WatchedTensor], rows: Int64) -> int:
    """Return which of some non-finite rows of a step was computed from finite ones.

    Args:
        health: The health matrix of the step.
        tensors: The tensors of its rows.
        rows: Non-finite rows, in the order of computation; at least one.
    """
    bad, row = set(rows.tolist()), int(rows[0])
    while True:
        order = health[row, 0]
        # Parameters are recorded after their update, so they may be later than what uses them.
        earlier = [item for item in tensors[row].inputs if item in bad and health[item, 0] < order]
        if not earlier:
            return row
        row = earlier[0]


def compute_histogram(values: Float32) -> NDArray[np.uint8]:
    """Return the share of finite values in each bin; 255 is all of them, 0 is none."""
    shares: NDArray[np.uint8] = compute_histograms({0: values}, 1)[0]
    return shares


def compute_histograms(samples: Mapping[int, Float32], count: int) -> NDArray[np.uint8]:
    """Return the histogram of each row that has a sample; other rows are 0.

    Args:
        samples: Values by row.
        count: Number of rows.
    """
    values = np.concatenate([np.empty(0, np.float32), *samples.values()])
    lengths = [len(sample) for sample in samples.values()]
    width = HISTOGRAM_BINS + 1
    index = _BIN[values.view(np.uint32) >> 23]
    index += np.repeat(np.fromiter(samples, np.int64, len(samples)) * width, lengths)
    counts = np.bincount(index, minlength=count * width).reshape(count, width)[:, :HISTOGRAM_BINS]
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    shares: NDArray[np.uint8] = np.ceil(counts * 255 / totals).astype(np.uint8)
    return shares


def get_histogram_edges() -> Float64:
    """Return the edges of the bins, one more than there are bins."""
    positive = 2.0 ** (_MIN_EXPONENT - 1 + 2 * np.arange(_SIDE_BINS + 1))
    return np.concatenate([-positive[::-1], positive])


def make_tag(tag: str, rank: int = 0) -> str:
    """Return the tag of a process; all but the first add their rank."""
    return f"debugger/{tag}" if rank == 0 else f"debugger/rank{rank}/{tag}"
