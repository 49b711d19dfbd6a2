"""Write event files from a training program.

`event_writer.EventWriter` is the entry point: it encodes records into a buffer, which a
`writer_thread.WriterThread` writes to a `Sink` (a local file or an object store) in the
background. `values` builds the records that the logging APIs (`tracklight.summary`,
`tracklight.torch` and so on) pass to it. `warnings` reports misuse without breaking the training,
and `tf_function` supports logging from inside a ``tf.function``.

This module converts arguments of logging calls: arrays of any framework, numbers, steps and tags;
`media` converts images, audio and text. No framework is imported: a tensor can only be passed in if
its framework is loaded already, so its own methods do the conversion. Invalid arguments raise
`ArgumentError`; arguments that can be corrected are warned about.

May import `tracklight.formats`, `tracklight.errors` and `tracklight.util`. Must not import
`tracklight.summary`, `tracklight.profiler`, the framework integrations, or a framework itself:
importing the writer has to stay cheap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from tracklight.formats.record_buffer import MAX_TAG_CHARACTERS
from tracklight.writer.warnings import ArgumentError, warn_or_raise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]


#: dtypes of ml_dtypes that NumPy cannot compute with.
_NARROW_DTYPES = ("bfloat16", "float8", "float4", "int4", "uint4", "int2", "uint2")

_INT64_RANGE = range(-(1 << 63), 1 << 63)
_UNNAMED = "unnamed"


def as_array(value: object, argument: str = "data") -> Array:
    """Return a NumPy array of numbers or strings.

    Raises:
        ArgumentError: ``value`` cannot be converted; the message names ``argument``.
    """
    import numpy as np

    try:
        array = np.asarray(_to_host(value))
    except (TypeError, ValueError, RuntimeError) as error:
        raise ArgumentError(argument, f"cannot be converted to an array: {error}") from error
    # `name` takes as long as copying 10 kB, and no type of NumPy itself is narrow.
    if array.dtype.isbuiltin != 1 and array.dtype.name.startswith(_NARROW_DTYPES):
        return array.astype(np.float32)
    return array


def as_numbers(value: object, argument: str = "data") -> Array:
    """Return a NumPy array of real numbers. Raises ArgumentError for anything else."""
    array = as_array(value, argument)
    if array.dtype.kind not in "fiub":
        raise ArgumentError(argument, f"must be numbers, not {array.dtype}")
    return array


def as_number(value: object, argument: str = "data") -> float:
    """Return the single number in a value. Raises ArgumentError for anything else."""
    if isinstance(value, (str, bytes)) or value is None:
        raise ArgumentError(argument, f"must be a number, not a {type(value).__name__}")
    array = as_numbers(value, argument)
    if array.size != 1:
        raise ArgumentError(
            argument, f"must be one number, not an array of shape {list(array.shape)}"
        )
    return float(array.reshape(()))


def as_step(value: object, argument: str = "step") -> int:
    """Return a step as an int; a fraction is truncated with a warning."""
    if value is None:
        raise ArgumentError(argument, "is missing; pass a step or call `set_step`")
    if isinstance(value, (str, bytes)):
        raise ArgumentError(argument, f"must be an int, not a {type(value).__name__}")
    number: Any = value if isinstance(value, (int, float)) else as_array(value, argument).tolist()
    while isinstance(number, list) and len(number) == 1:
        number = number[0]
    if not isinstance(number, (int, float)) or not math.isfinite(number):
        raise ArgumentError(argument, f"must be an int, not {number!r:.100}")
    step = int(number)
    if step not in _INT64_RANGE:
        raise ArgumentError(argument, f"{step} does not fit into 64 bits")
    if step != number:
        warn_or_raise(argument, f"must be an int; {number} was truncated to {step}")
    return step


def has_nan(array: Array) -> bool:
    import numpy as np

    return bool(array.dtype.kind == "f" and np.isnan(array).any())


def _to_host(value: object) -> Any:
    """Return a value that NumPy can read: tensors, also those in lists, are moved to the CPU."""
    if isinstance(value, (list, tuple)):
        return [_to_host(item) for item in value] if _holds_tensors(value) else value
    if hasattr(value, "detach"):
        return _torch_to_host(value)
    for method in ("numpy", "get"):  # TensorFlow's eager tensors; CuPy's arrays
        if hasattr(value, method) and hasattr(value, "dtype"):
            return getattr(value, method)()
    return value


def _torch_to_host(tensor: Any) -> np.ndarray[Any, Any]:
    tensor = tensor.detach()
    if str(tensor.layout) != "torch.strided":
        tensor = tensor.to_dense()
    if str(tensor.dtype).startswith(("torch.bfloat16", "torch.float8")):
        tensor = tensor.float()
    array: np.ndarray[Any, Any] = tensor.cpu().resolve_conj().resolve_neg().numpy()
    return array


def _holds_tensors(items: Iterable[object]) -> bool:
    return any(hasattr(item, "dtype") or isinstance(item, (list, tuple)) for item in items)


def as_tag(name: object, argument: str = "name") -> str:
    """Return a valid tag: a non-empty string that can be encoded as UTF-8.

    All characters are allowed: slashes, spaces, colons, quotes, line breaks.

    Raises:
        ArgumentError: The tag is too long.
    """
    if not isinstance(name, str):
        warn_or_raise(argument, f"must be a str, not a {type(name).__name__}")
        name = name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
    if not name:
        warn_or_raise(argument, f"is empty; logged as {_UNNAMED!r}")
        return _UNNAMED
    if len(name) > MAX_TAG_CHARACTERS:
        raise ArgumentError(
            argument, f"has {len(name)} characters; the maximum is {MAX_TAG_CHARACTERS}"
        )
    try:
        name.encode()
    except UnicodeEncodeError:
        warn_or_raise(argument, "contains a lone surrogate, which was replaced by a question mark")
        return name.encode("utf-8", "replace").decode()
    return name
