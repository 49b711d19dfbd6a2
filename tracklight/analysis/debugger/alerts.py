"""Alerts: places where the numbers of a program went wrong."""

from __future__ import annotations

from enum import Enum

import msgspec

from tracklight.errors import Message


class AlertKind(str, Enum):
    """What is wrong with a tensor."""

    NAN = "nan"
    INF = "inf"
    NAN_OR_INF = "nan_or_inf"
    """A dump in mode CURT_HEALTH does not say which."""
    OVERFLOW = "overflow"
    """Values at or above the maximum of a 16-bit type."""
    UNDERFLOW = "underflow"
    """Many nonzero values that a 16-bit type cannot represent."""
    EXPLODING_GRADIENT = "exploding_gradient"
    VANISHING_GRADIENT = "vanishing_gradient"
    DEAD_UNITS = "dead_units"
    CONSTANT_OUTPUT = "constant_output"
    LOSS_SCALE = "loss_scale"
    """The loss scale of mixed-precision training fell again and again."""
    SHAPE_CHANGE = "shape_change"
    RETRACING = "retracing"
    """A ``tf.function`` was traced again and again."""

    def __str__(self) -> str:
        return self.value

    @property
    def is_non_finite(self) -> bool:
        return self in (AlertKind.NAN, AlertKind.INF, AlertKind.NAN_OR_INF)


class HealthAlert(msgspec.Struct, frozen=True):
    """One alert. Numbers that are not recorded are None."""

    kind: AlertKind
    op_type: str
    """Type of the operation or of the layer."""
    op_name: str
    """Name of the operation, or of the tensor of a recording."""
    output_slot: int
    wall_time: float
    step: int | None = None
    size: int | None = None
    nan: int | None = None
    neg_inf: int | None = None
    pos_inf: int | None = None
    execution: int | None = None
    """Index of the execution in the dump."""
    graph_execution: int | None = None
    """Index of the graph execution trace in the dump."""
    dtype: str = ""
    role: str = ""
    """What the tensor of a recording is, such as ``gradient``."""
    tensor: int | None = None
    """Row of the tensor in the recording."""
    message: str = ""
    code: str = ""
    """With ``args``, what the page translates the message by."""
    args: dict[str, str | int | float] = {}


def make_translatable(message: Message) -> tuple[str, str, dict[str, str | int | float]]:
    """Return the text, the code and the arguments of a message."""
    args = {
        name: it if isinstance(it, str | int | float) else str(it)
        for name, it in message.args.items()
    }
    return message.text, message.code, args


def get_non_finite_kind(nan: int | None, neg_inf: int | None, pos_inf: int | None) -> AlertKind:
    """Return the kind of an alert about non-finite values, given their counts."""
    if nan is None and neg_inf is None and pos_inf is None:
        return AlertKind.NAN_OR_INF
    return AlertKind.NAN if nan else AlertKind.INF


class SourceLine(msgspec.Struct, frozen=True):
    """A line of the user's program."""

    path: str
    line: int
    function: str
    code: str = ""
    is_library: bool = False
    """Whether the file belongs to a package or to Python itself."""

    def __str__(self) -> str:
        file = self.path.replace("\\", "/").rpartition("/")[2]
        return f"{file}:{self.line} in {self.function}" if self.function else f"{file}:{self.line}"


class InputSummary(msgspec.Struct, frozen=True):
    """An input of the operation that went wrong."""

    name: str
    is_finite: bool | None
    """None if it was not recorded."""
    min: float | None = None
    max: float | None = None
    zeros: int | None = None
    negatives: int | None = None
    size: int | None = None
    shape: tuple[int, ...] | None = None
    dtype: str = ""


class RootCause(msgspec.Struct, frozen=True):
    """The first non-finite value, or the problem that began first."""

    kind: AlertKind
    op_type: str
    op_name: str
    message: str
    """One sentence: what happened, where and when."""
    detail: str = ""
    """What is wrong, for gradual problems; ``code`` and ``args`` translate it."""
    code: str = ""
    args: dict[str, str | int | float] = {}
    hint: str = ""
    """What to look at or to change; ``hint_code`` and ``hint_args`` translate it."""
    hint_code: str = ""
    hint_args: dict[str, str | int | float] = {}
    role: str = ""
    """What the tensor of a recording is, such as ``gradient``."""
    tensor: int | None = None
    """Row of the tensor in the recording."""
    dtype: str = ""
    size: int | None = None
    nan: int | None = None
    neg_inf: int | None = None
    pos_inf: int | None = None
    output_slot: int = 0
    step: int | None = None
    execution: int | None = None
    graph_execution: int | None = None
    inputs: tuple[InputSummary, ...] = ()
    source: SourceLine | None = None
    stack: tuple[SourceLine, ...] = ()
    followers: int = 0
    """Number of later alerts, which are mostly consequences."""
    is_certain: bool = True
    """False if what happened before is not recorded, such as in a circular buffer."""
