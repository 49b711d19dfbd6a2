"""Log from inside a ``tf.function``.

While a function is traced there are no values yet, and its Python code runs only once. So a call
that logs adds an operation to the graph instead, which repeats the call with the values whenever
the function runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tracklight.errors import UsageError
from tracklight.writer import defaults, warnings
from tracklight.writer.arguments import as_tag
from tracklight.writer.tf_context import (
    add_name_scope,
    find_replica_id,
    ignore_name_scopes,
    is_compiled_by_xla,
)

#: Where a graph keeps its operations that log, the last of which the next one waits for.
_COLLECTION = "tracklight_operations"

_XLA_MESSAGE = (
    "the function is compiled by XLA (jit_compile=True), which cannot call Python; "
    "return the value and log it outside, or set jit_compile=False"
)


@dataclass(frozen=True)
class _TensorInput:
    """Stands for a tensor in the arguments of a call."""

    index: int


def log_when_run(
    log: Callable[..., object],
    call: str,
    name: object,
    *arguments: Any,
    step: object = None,
    is_scoped: bool = True,
    **named: Any,
) -> bool:
    """Call ``log(name, *arguments, step=step, **named)`` whenever the function being traced runs.

    Writer, default step and condition are those that a call outside of the function would use
    then. As in TensorFlow, nothing is logged where no writer was the default during the trace.

    Returns:
        Whether the operation was added.
    """
    if not _should_log():
        return False

    def make(inputs: _TensorInputs) -> Callable[..., object]:
        tag = as_tag(name)
        tag = add_name_scope(tag) if is_scoped else tag
        at = inputs.take(_find_step_tensor() if step is None else step)
        given = inputs.take(arguments), inputs.take(named)

        def repeat(*arrays: Any) -> None:
            positional, keywords = _replace_inputs(given, arrays)
            log(tag, *positional, step=_replace_inputs(at, arrays), **keywords)

        return repeat

    return _add_operation(call, make)


def call_when_run(function: Callable[..., object], call: str, *arguments: Any) -> bool:
    """Call ``function(*arguments)`` whenever the function being traced runs."""
    if not _should_log():
        return False

    def make(inputs: _TensorInputs) -> Callable[..., object]:
        given = inputs.take(arguments)
        return lambda *arrays: function(*_replace_inputs(given, arrays))

    return _add_operation(call, make)


def make_condition_tensor() -> Any:
    """Return a tensor that says whether values are recorded when the function runs.

    Where the function is compiled by XLA, a bool that says whether they are now.
    """
    tensorflow: Any = sys.modules["tensorflow"]
    if not _should_log() or not defaults.condition.was_set:
        return _should_log()
    wanted = _find_condition_tensor()
    if wanted is not None:
        return tensorflow.cast(wanted, tensorflow.bool)
    if is_compiled_by_xla():
        return defaults.find_active_writer() is not None
    read_writer, read_condition = (
        defaults.writer.bind(keep_current=True),
        defaults.condition.bind(keep_current=False),
    )

    def evaluate() -> Any:
        import numpy as np

        with defaults.writer.override(read_writer()), defaults.condition.override(read_condition()):
            return np.bool_(defaults.find_active_writer() is not None)

    tensor = tensorflow.numpy_function(evaluate, [], tensorflow.bool)
    tensor.set_shape(())
    return tensor


def _should_log() -> bool:
    """Return whether there is a default writer, and this replica is the one that logs."""
    if find_replica_id():
        return False
    return defaults.writer.bind(keep_current=True)() is not None


class _TensorInputs:
    """Collects the tensors among the arguments of a call, as inputs of the operation."""

    def __init__(self) -> None:
        self.tensors: list[Any] = []

    def take(self, value: Any) -> Any:
        """Return ``value`` with an `_Input` in place of each tensor."""
        if is_tf_tensor(value):
            try:
                self.tensors.append(sys.modules["tensorflow"].convert_to_tensor(value))
            except (TypeError, ValueError):
                kind = type(value).__name__
                raise warnings.ArgumentError("data", f"is a {kind}; give a dense tensor") from None
            return _TensorInput(len(self.tensors) - 1)
        if type(value) in (list, tuple):
            return type(value)(self.take(item) for item in value)
        if isinstance(value, Mapping):
            return {key: self.take(item) for key, item in value.items()}
        if hasattr(value, "map_data"):  # tracklight.Image and the like
            return value.map_data(self.take)
        return value


def is_tf_tensor(value: object) -> bool:
    """Return whether a value is a tensor or variable of TensorFlow."""
    tensorflow: Any = sys.modules["tensorflow"]
    return bool(tensorflow.is_tensor(value)) or hasattr(value, "__tf_tensor__")


def _replace_inputs(value: Any, arrays: tuple[Any, ...]) -> Any:
    if isinstance(value, _TensorInput):
        return arrays[value.index]
    if type(value) in (list, tuple):
        return type(value)(_replace_inputs(item, arrays) for item in value)
    if isinstance(value, Mapping):
        return {key: _replace_inputs(item, arrays) for key, item in value.items()}
    if hasattr(value, "map_data"):
        return value.map_data(lambda item: _replace_inputs(item, arrays))
    return value


def _add_operation(call: str, make: Callable[[_TensorInputs], Callable[..., object]]) -> bool:
    """Add an operation that calls what ``make`` returns with the values of its inputs."""
    read_writer, read_step = (
        defaults.writer.bind(keep_current=True),
        defaults.step.bind(keep_current=True),
    )
    read_condition = defaults.condition.bind(keep_current=False)
    writer = read_writer()
    assert writer is not None
    with warnings.catch_errors(call, strict=writer.strict):
        if is_compiled_by_xla():
            raise UsageError(_XLA_MESSAGE)
        tensorflow: Any = sys.modules["tensorflow"]
        inputs = _TensorInputs()
        repeat = make(inputs)
        wanted = _find_condition_tensor()
        condition_input = None if wanted is None else inputs.take(wanted)
        location = warnings.Location("<unknown>", 0, "__main__")

        def run(*arrays: Any) -> None:
            active = read_writer()
            if active is None:
                return
            condition = (
                read_condition()
                if condition_input is None
                else bool(_replace_inputs(condition_input, arrays))
            )
            with (
                defaults.writer.override(active),
                defaults.step.override(read_step()),
                defaults.condition.override(condition),
                warnings.warn_at(location),
                ignore_name_scopes(),
                warnings.catch_errors(call, strict=active.strict),
            ):
                repeat(*arrays)

        graph = tensorflow.compat.v1.get_default_graph()
        added = graph.get_collection_ref(_COLLECTION)
        # A graph inherits the collections of the one around it, whose operations it cannot use.
        before = [operation for operation in added[-1:] if operation.graph is graph]
        with tensorflow.control_dependencies(before):
            operation = tensorflow.numpy_function(run, inputs.tensors, [])
        added.append(operation)
        location = warnings.get_operation_location(operation.traceback)
        return True
    return False


def _find_step_tensor() -> object | None:
    """Return the default step if it is a tensor, whose value is to be read in the graph."""
    step = defaults.step.bind(keep_current=True)()
    return step if is_tf_tensor(step) else None


def _find_condition_tensor() -> object | None:
    """Return what `record_if` was given, or what that returns, if it is a tensor."""
    if not defaults.condition.was_set:
        return None
    wanted: object = defaults.condition.bind(keep_current=False)()
    if callable(wanted):
        try:
            wanted = wanted()
        except Exception:  # it may need values: then it is called when the function runs
            return None
    return wanted if is_tf_tensor(wanted) else None
