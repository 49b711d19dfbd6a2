"""`watch`: choose the integration for a model and start recording."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

from tracklight.debugger.recorder import OnProblem, Recorder, Schedule
from tracklight.debugger.tensor_filter import TensorFilter
from tracklight.writer.warnings import ArgumentError


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
            looked at.
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
    framework, version = _find_framework(model)
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


def _find_framework(model: Any) -> tuple[str, str]:
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
