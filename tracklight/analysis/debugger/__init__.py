"""Numerical problems of a program: alerts, their root cause, and hints on what to look at there.

`HealthAlert` and `RootCause` are the results that both sources have in common: dumps of
TensorFlow's debugger (`dump`, `dump_rows`, `dump_analysis`), and recordings of
``tracklight.debugger`` in event files (`recording`). Here are also the sentences in which the
server reports them. `dump_comparison` compares two dumps, and `library` opens the dumps and
recordings of a log.

May import `tracklight.formats`, `tracklight.logdir` and `tracklight.analysis.source`.
"""

from __future__ import annotations

import re
from enum import Enum

import msgspec

from tracklight.errors import Message, UsageError


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
        name: item if isinstance(item, str | int | float) else str(item)
        for name, item in message.args.items()
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


# ---- hints

_LOG = Message(
    "debugger.hint_log",
    "The logarithm of 0 is -Inf and of a negative number NaN. Clamp the input: log(max(x, eps)).",
)
_DIVISION = Message(
    "debugger.hint_division",
    "Division by zero. Add a small constant to the denominator, or mask these elements.",
)
_SQRT = Message(
    "debugger.hint_sqrt",
    "The square root of a negative number is NaN. Clamp the input at 0.",
)
_SQRT_GRADIENT = Message(
    "debugger.hint_sqrt_gradient",
    "The gradient of sqrt, norms and fractional powers is infinite at 0 and NaN below, also where "
    "a mask or `where` hides the result. Compute it of x + eps, or replace x before the root.",
)
_EXP = Message(
    "debugger.hint_exp",
    "exp overflows above 88 in float32 and above 11 in float16. Subtract the maximum first.",
)
_SOFTMAX = Message(
    "debugger.hint_softmax",
    "A row that is masked completely is -Inf everywhere, and its softmax is NaN. Use a large "
    "negative number instead of -Inf, or skip such rows.",
)
_NORM = Message(
    "debugger.hint_normalization",
    "A batch or feature without variance is divided by sqrt(0 + eps). Check that eps is not too "
    "small for the dtype, and that batches have more than one sample.",
)
_MATMUL = Message(
    "debugger.hint_matmul",
    "The product exceeds the range of the dtype. In float16 (maximum 65504) scale the inputs, "
    "compute in float32 or use bfloat16.",
)
_LOSS = Message(
    "debugger.hint_loss",
    "The loss of a prediction that is exactly 0 or 1 contains log(0). Compute it from logits, or "
    "clamp the predictions.",
)
_POW = Message(
    "debugger.hint_pow",
    "A negative base with a fractional exponent is NaN, 0 with a negative exponent is Inf, and "
    "large bases exceed the range of the dtype.",
)
_DIFFERENCE = Message(
    "debugger.hint_difference",
    "Inf - Inf is NaN. In a softmax or logsumexp, this is a row that is masked completely: use a "
    "large negative number instead of -Inf, or skip such rows.",
)
_DOMAIN = Message(
    "debugger.hint_domain",
    "acos, asin, atanh and erfinv are defined from -1 to 1, and their gradients are infinite at "
    "the ends. Clamp the input to a slightly smaller range.",
)
_VARIANCE = Message(
    "debugger.hint_variance",
    "The variance of a single value is NaN, and the gradient of std is infinite where all values "
    "are equal. Use correction=0, more samples, or sqrt(var + eps).",
)
_DATA = Message(
    "debugger.hint_data",
    "The data contains NaN or Inf. Check inputs and targets before they enter the model.",
)
_PARAMETER = Message(
    "debugger.hint_parameter",
    "A parameter is not finite. It was initialized that way, or the previous update made it so: "
    "check the learning rate and clip gradients.",
)
_UPDATE = Message(
    "debugger.hint_update",
    "The update is too large. Lower the learning rate, warm it up, clip gradients, or give the "
    "optimizer a larger eps.",
)
_GRADIENT = Message(
    "debugger.hint_gradient",
    "The forward pass was finite, so an operation has no finite gradient at these values: sqrt, "
    "norm or pow at 0, or `where` around a branch that is not finite.",
)

#: Patterns of op and layer types, in order of priority. Names of gradient ops come first.
_HINTS = (
    (r"(sqrt|norm|pow).*(grad|backward)", _SQRT_GRADIENT),
    (r"log_?softmax|softmax|logsumexp|logaddexp|attention", _SOFTMAX),
    (r"cross_?entropy|bce|nll|kl_?div", _LOSS),
    (r"(^|[._/ ])(std|var|std_mean|var_mean)($|[_.0-9])", _VARIANCE),
    (r"a(rc)?(cos|sin|tanh|cosh)($|[_.0-9 ])|erfinv|erf_inv", _DOMAIN),
    (
        r"batch_?norm|layer_?norm|group_?norm|instance_?norm|rms_?norm|normalization|fusedbatch",
        _NORM,
    ),
    (r"^log|(^|[._/ ])log(1p|2|10)?($|[_.0-9])", _LOG),
    (r"rsqrt|reciprocal|realdiv|divnonan|(^|[._])div|truediv|^inv$", _DIVISION),
    (r"sqrt", _SQRT),
    (r"exp(m1|2)?($|[_.0-9])|sinh|cosh", _EXP),
    (r"pow", _POW),
    (r"(^|[._/ ])r?sub(tract)?($|[_.0-9])", _DIFFERENCE),
    (r"matmul|linear|dense|conv|einsum|dot_general|bmm|addmm|(^|[._])(mm|mul|square)", _MATMUL),
)
_COMPILED = [(re.compile(pattern, re.IGNORECASE), hint) for pattern, hint in _HINTS]

HINTS_BY_ROLE = {
    "input": _DATA,
    "parameter": _PARAMETER,
    "update": _UPDATE,
    "gradient": _GRADIENT,
}


def find_hint(op_type: str, role: str = "") -> Message | None:
    """Return advice for an operation or layer, or else for the role of the tensor."""
    for pattern, hint in _COMPILED:
        if op_type and pattern.search(op_type):
            return hint
    return HINTS_BY_ROLE.get(role)


# ---- notices of the server about dumps and recordings

#: Tensors of another shape are normal for texts and images of different sizes.
DEFAULT_ALERT_KINDS = frozenset(AlertKind) - {AlertKind.SHAPE_CHANGE}


def describe_non_finite_tensors(source: str, step: int, count: int) -> Message:
    """Describe a step of a recording at which tensors were not finite."""
    return Message.format(
        "alerts.non_finite_tensors",
        "{run}: tensors with NaN or Inf at step {step:,}: {count:,}. See the Debugger",
        run=source,
        step=step,
        count=count,
    )


def describe_non_finite_op(source: str, op: str) -> Message:
    """Describe the first non-finite tensor of a dump."""
    return Message.format(
        "alerts.non_finite_dump",
        '{run}: the output of "{op}" contains NaN or Inf. See the Debugger',
        run=source,
        op=op,
    )


_KIND_NAMES = {
    AlertKind.OVERFLOW: Message("alerts.kind_overflow", "overflow"),
    AlertKind.UNDERFLOW: Message("alerts.kind_underflow", "underflow"),
    AlertKind.EXPLODING_GRADIENT: Message("alerts.kind_exploding_gradient", "exploding gradient"),
    AlertKind.VANISHING_GRADIENT: Message("alerts.kind_vanishing_gradient", "vanishing gradient"),
    AlertKind.DEAD_UNITS: Message("alerts.kind_dead_units", "dead units"),
    AlertKind.CONSTANT_OUTPUT: Message("alerts.kind_constant_output", "constant output"),
    AlertKind.LOSS_SCALE: Message("alerts.kind_loss_scale", "loss scale"),
    AlertKind.SHAPE_CHANGE: Message("alerts.kind_shape_change", "shape change"),
    AlertKind.RETRACING: Message("alerts.kind_retracing", "retracing"),
}


def describe_alert(source: str, alert: HealthAlert) -> Message:
    """Describe a problem other than NaN and Inf in a dump or recording."""
    args = {
        "run": source,
        "kind": _KIND_NAMES[alert.kind],
        "name": alert.op_name or alert.op_type,
        "detail": Message(alert.code, alert.message, dict(alert.args)),
    }
    if alert.step is None:
        return Message.format(
            "alerts.debugger_problem", '{run}: {kind}, "{name}". {detail} See the Debugger', **args
        )
    return Message.format(
        "alerts.debugger_problem_at_step",
        '{run}: {kind} at step {step:,}, "{name}". {detail} See the Debugger',
        **args,
        step=alert.step,
    )


def parse_alert_kinds(text: str) -> frozenset[AlertKind]:
    """Parse kinds of alerts given on the command line: ``all``, ``none`` or names of kinds.

    Raises:
        UsageError: There is no such kind.
    """
    words = {word.strip() for word in text.split(",")} - {""}
    if words == {"all"}:
        return frozenset(AlertKind)
    known = {kind.value: kind for kind in AlertKind}
    unknown = sorted(words - known.keys() - {"none"})
    if unknown:
        raise UsageError(
            f'--debugger-alerts: there is no kind "{unknown[0]}"; write "all", "none" or some of '
            + ", ".join(known)
        )
    return frozenset(known[word] for word in words if word != "none")


def make_page_view(source: str) -> dict[str, str]:
    """Return the URL parameters of the page that shows a dump or recording."""
    return {"tab": "debugger", "debugger-run": source}
