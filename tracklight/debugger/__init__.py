"""Find the first NaN: record the health of a model's tensors while it trains.

    with tracklight.debugger.watch(model, "logs/run1"):
        for batch in data:
            train(batch)

`watch` records the outputs of layers and operations, gradients, parameters and updates of a
PyTorch model, a JAX function or a Keras model. `check_numerics` checks a single value.

`recorder` computes the statistics of arrays and decides what is written. `torch_watch`, `jax_watch`
and `keras_watch` observe the frameworks; `torch_statistics` computes the statistics of PyTorch's
tensors, on CUDA with `torch_kernel`. Frameworks are imported when they are used. May import
`tracklight.writer` and `tracklight.formats`.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tracklight.debugger.recorder import OnProblem, Recorder, Schedule, TensorFilter, capture_stack
from tracklight.errors import NonFiniteError
from tracklight.writer.warnings import ArgumentError

__all__ = ["check_numerics", "watch"]


def watch(
    model: Any,
    logdir: str | os.PathLike[str],
    *,
    every: int = 10,
    first: int = 20,
    history: int = 10,
    on_problem: OnProblem = "continue",
    gradients: bool = True,
    parameters: bool = True,
    names: str | None = None,
    types: Iterable[str] | None = None,
    dtypes: Iterable[str] | None = None,
    first_step: int = 0,
    save_code: bool = True,
    strict: bool | None = None,
) -> Any:
    """Record the health of a model's tensors.

    Args:
        model: A PyTorch module, a Keras model, or a JAX function of one training step.
        logdir: Directory of the run.
        every: Write every so many steps, after the first ones.
        first: Write all of this many first steps.
        history: Keep this many steps in memory and write them, with the tensors involved, when a
            value becomes non-finite. 0 turns this off: then only the steps that are written are
            checked.
        on_problem: What to do when a value becomes non-finite: ``"continue"``, ``"stop"`` by
            raising `NonFiniteError`, or ``"debug"`` to enter the Python debugger.
        gradients: Whether to record gradients.
        parameters: Whether to record parameters and their updates.
        names: Regular expression of the tensors to record.
        types: Types of layers or operations to record, such as ``["Linear"]``.
        dtypes: Dtypes to record, such as ``["float16"]``.
        first_step: Number of the first step, if the training was resumed.
        save_code: Whether to store the source files in which the tensors are computed.
        strict: Whether misuse raises an exception instead of a warning.

    Returns:
        For PyTorch a context manager with the method ``step``, for Keras a callback of
        ``fit``, for JAX a function that is called instead of the given one.

    Raises:
        UsageError: An argument is invalid.

    Example:
        >>> with tracklight.debugger.watch(model, "logs/run1") as watcher:
        ...     for batch in data:
        ...         train(batch)
        ...         watcher.step()
    """
    for name, value in (("every", every), ("first", first), ("history", history)):
        if type(value) is not int or value < 0:
            raise ArgumentError(name, f"must be a number of steps, not {value!r:.100}")
    framework, version = _detect_framework(model)
    rank = _get_rank(framework)

    def make_recorder() -> Recorder:
        return Recorder(
            os.path.expanduser(os.fspath(logdir)),
            framework,
            version,
            rank=rank,
            schedule=Schedule(every, first),
            history=history,
            on_problem=on_problem,
            save_code=save_code,
            strict=strict,
        )

    options: dict[str, Any] = {
        "tensor_filter": TensorFilter(names, types, dtypes),
        "gradients": gradients,
        "parameters": parameters,
        "first_step": first_step,
    }
    if framework.startswith("keras"):
        from tracklight.debugger.keras_watch import create_callback

        return create_callback(model, make_recorder, **options)
    if framework == "torch":
        from tracklight.debugger.torch_watch import TorchWatcher

        return TorchWatcher(model, make_recorder(), **options)
    from tracklight.debugger.jax_watch import WatchedFunction

    return WatchedFunction(model, make_recorder(), **options)


def _detect_framework(model: Any) -> tuple[str, str]:
    """Return the name and the version of the framework of a model."""
    keras = sys.modules.get("keras")
    if keras is not None and hasattr(keras, "Model") and isinstance(model, keras.Model):
        return f"keras/{keras.backend.backend()}", str(keras.__version__)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(model, torch.nn.Module):
        return "torch", str(torch.__version__)
    jax = sys.modules.get("jax")
    if jax is not None and callable(model):
        return "jax", str(jax.__version__)
    raise ArgumentError(
        "model",
        f"must be a PyTorch module, a Keras model or a JAX function, not {type(model).__name__}",
    )


def _get_rank(framework: str) -> int:
    torch = sys.modules.get("torch")
    if framework != "jax" and torch is not None:
        distributed = torch.distributed
        return (
            int(distributed.get_rank())
            if distributed.is_available() and distributed.is_initialized()
            else 0
        )
    jax = sys.modules.get("jax")
    return int(jax.process_index()) if jax is not None else 0


# ---- checks


def check_numerics(value: Any, name: str = "value") -> Any:
    """Raise an exception if a value is NaN or infinite; return the value otherwise.

    Works on arrays and tensors of every framework and on nested dicts, lists and tuples of them.
    Given a function, returns a function that checks its results. Under ``jax.jit`` and in a
    ``tf.function`` the check is part of the compiled program.

    Args:
        value: What to check, or a function.
        name: Name of the value in the message.

    Returns:
        The same value, or the function that checks results.

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
