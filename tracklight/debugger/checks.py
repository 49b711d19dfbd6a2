"""`check_numerics`: check one value or the results of one function."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tracklight.debugger.stacks import capture_stack
from tracklight.errors import NonFiniteError


def check_numerics(value: Any, name: str = "value") -> Any:
    """Raise an exception if a value is NaN or infinite; return the value otherwise.

    Works on arrays and tensors of every framework and on nested dicts, lists and tuples of them.
    Given a function, returns a function that checks its results. Under ``jax.jit`` and in a
    ``tf.function`` the check is part of the compiled program.

    Args:
        value: What to check, or a function.
        name: Name of the value in the message.

    Raises:
        NonFiniteError: A value is NaN or infinite.

    Example:
        >>> loss = tracklight.debugger.check_numerics(compute_loss(batch), "loss")
        >>> @tracklight.debugger.check_numerics
        ... def layer(x):
        ...     return x / x.sum()
    """
    if callable(value) and not hasattr(value, "dtype"):
        return _wrap_function(value)
    location = _format_location()
    for path, leaf in _iter_leaves(value, name):
        _check_leaf(leaf, path, location)
    return value


def _wrap_function(function: Callable[..., Any]) -> Callable[..., Any]:
    name = getattr(function, "__name__", "function")

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        return check_numerics(function(*args, **kwargs), f"the result of {name}")

    return checked


def _check_leaf(leaf: Any, name: str, location: str) -> None:
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(leaf, torch.Tensor):
        if leaf.is_floating_point() and not bool(torch.isfinite(leaf).all()):
            is_nan, is_inf = torch.isnan(leaf), torch.isinf(leaf)
            _raise(int(is_nan.sum()), int(is_inf.sum()), leaf.numel(), name, location)
        return
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(leaf, jax.core.Tracer):
        _check_traced(jax, leaf, name, location)
        return
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is not None and tensorflow.is_tensor(leaf) and not hasattr(leaf, "numpy"):
        # Inside a tf.function: the check is an operation that others must depend on.
        message = f"{name} is not finite{location}"
        tensorflow.debugging.assert_all_finite(leaf, message)
        return
    array = np.asarray(leaf.numpy() if hasattr(leaf, "numpy") else leaf)
    if array.dtype.kind not in "fc" and "float" not in array.dtype.name:
        return
    array = array if array.dtype.kind in "fc" else array.astype(np.float32)
    if not np.isfinite(array).all():
        nan, inf = np.count_nonzero(np.isnan(array)), np.count_nonzero(np.isinf(array))
        _raise(int(nan), int(inf), array.size, name, location)


def _check_traced(jax: Any, leaf: Any, name: str, location: str) -> None:
    """Add a check to a function that JAX is tracing."""
    if not jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact):
        return

    def report(nan: Any, inf: Any) -> None:
        if nan or inf:
            _raise(int(nan), int(inf), leaf.size, name, location)

    jax.debug.callback(report, jax.numpy.isnan(leaf).sum(), jax.numpy.isinf(leaf).sum())


def _raise(nan: int, inf: int, size: int, name: str, location: str) -> None:
    found = " and ".join(
        f"{count:,} {what}" for count, what in ((nan, "NaN"), (inf, "Inf")) if count
    )
    raise NonFiniteError(f"{name} contains {found} of {size:,} values{location}")


def _format_location() -> str:
    stack = capture_stack()
    if not stack:
        return ""
    file = stack[-1].path.replace("\\", "/").rpartition("/")[2]
    return f" at {file}:{stack[-1].line} in {stack[-1].function}"


def _iter_leaves(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _iter_leaves(item, f"{name}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _iter_leaves(item, f"{name}[{index}]")
    elif value is not None and not isinstance(value, (str, bytes)):
        yield name, value
