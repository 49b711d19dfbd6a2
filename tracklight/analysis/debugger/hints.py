"""What to look at when an operation or a layer produces non-finite values."""

from __future__ import annotations

import re

from tracklight.errors import Message

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
