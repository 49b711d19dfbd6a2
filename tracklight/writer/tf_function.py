"""Log from inside a ``tf.function``.

While a function is traced there are no values yet, and its Python code runs only once. A logging
call therefore adds an operation to the graph, which repeats the call with the values whenever the
function runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tracklight.errors import UsageError
from tracklight.writer import as_tag, event_writer, warnings
from tracklight.writer.warnings import (
    add_name_scope,
    find_replica_id,
    ignore_name_scopes,
    is_compiled_by_xla,
)

#: Graph collection of logging operations. Each depends on the previous one, to keep their order.
_COLLECTION = "tracklight_operations"

_XLA_MESSAGE = (
    "the function is compiled by XLA (jit_compile=True), which cannot call Python; "
    "return the value and log it outside, or set jit_compile=False"
)


@dataclass(frozen=True)
class _TensorInput:
    """Placeholder for a tensor in the arguments of a call."""

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

    Writer, default step and condition are those that a call outside of the function would use at
    that time. As in TensorFlow, nothing is logged if there was no default writer during tracing.

    Args:
        log: The logging function.
        call: Description of the call for warnings.
        name: Name or tag of the value.
        *arguments: Positional arguments after the name; may contain tensors.
        step: The step, or None for the default step.
        is_scoped: Whether the current name scope becomes part of the tag.
        **named: Further arguments.

    Returns:
        Whether the operation was added.
    """
    if not _should_log():
        return False

    def make(inputs: _TensorInputs) -> Callable[..., object]:
        tag = as_tag(name)
        tag = add_name_scope(tag) if is_scoped else tag
        step_input = inputs.collect(_find_step_tensor() if step is None else step)
        call_inputs = inputs.collect(arguments), inputs.collect(named)

        def repeat(*arrays: Any) -> None:
            positional, keywords = _replace_inputs(call_inputs, arrays)
            log(tag, *positional, step=_replace_inputs(step_input, arrays), **keywords)

        return repeat

    return _add_operation(call, make)


def call_when_run(function: Callable[..., object], call: str, *arguments: Any) -> bool:
    """Call ``function(*arguments)`` whenever the function being traced runs."""
    if not _should_log():
        return False

    def make(inputs: _TensorInputs) -> Callable[..., object]:
        call_inputs = inputs.collect(arguments)
        return lambda *arrays: function(*_replace_inputs(call_inputs, arrays))

    return _add_operation(call, make)


def make_condition_tensor() -> Any:
    """Return a bool tensor: whether values are recorded when the function runs.

    In a function compiled by XLA, return a bool: whether values are recorded now.
    """
    tensorflow: Any = sys.modules["tensorflow"]
    if not _should_log() or not event_writer.condition.was_set:
        return _should_log()
    condition = _find_condition_tensor()
    if condition is not None:
        return tensorflow.cast(condition, tensorflow.bool)
    if is_compiled_by_xla():
        return event_writer.find_active_writer() is not None
    read_writer = event_writer.writer.bind(keep_current=True)
    read_condition = event_writer.condition.bind(keep_current=False)

    def evaluate() -> Any:
        import numpy as np

        with (
            event_writer.writer.override(read_writer()),
            event_writer.condition.override(read_condition()),
        ):
            return np.bool_(event_writer.find_active_writer() is not None)

    tensor = tensorflow.numpy_function(evaluate, [], tensorflow.bool)
    tensor.set_shape(())
    return tensor


def _should_log() -> bool:
    """Return whether there is a default writer and this is the first replica."""
    if find_replica_id():
        return False
    return event_writer.writer.bind(keep_current=True)() is not None


class _TensorInputs:
    """Collect the tensors in the arguments of a call as inputs of an operation."""

    def __init__(self) -> None:
        self.tensors: list[Any] = []

    def collect(self, value: Any) -> Any:
        """Return ``value`` with each tensor replaced by a `_TensorInput`."""
        if is_tf_tensor(value):
            try:
                self.tensors.append(sys.modules["tensorflow"].convert_to_tensor(value))
            except (TypeError, ValueError):
                kind = type(value).__name__
                raise warnings.ArgumentError("data", f"is a {kind}; pass a dense tensor") from None
            return _TensorInput(len(self.tensors) - 1)
        if type(value) in (list, tuple):
            return type(value)(self.collect(item) for item in value)
        if isinstance(value, Mapping):
            return {key: self.collect(item) for key, item in value.items()}
        if hasattr(value, "map_data"):  # tracklight.Image, Histogram, Text and Audio
            return value.map_data(self.collect)
        return value


def is_tf_tensor(value: object) -> bool:
    """Return whether a value is a TensorFlow tensor or variable."""
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
    """Add an operation that calls the result of ``make`` with the values of its inputs."""
    read_writer = event_writer.writer.bind(keep_current=True)
    read_step = event_writer.step.bind(keep_current=True)
    read_condition = event_writer.condition.bind(keep_current=False)
    writer = read_writer()
    assert writer is not None
    with warnings.catch_errors(call, strict=writer.strict):
        if is_compiled_by_xla():
            raise UsageError(_XLA_MESSAGE)
        tensorflow: Any = sys.modules["tensorflow"]
        inputs = _TensorInputs()
        repeat = make(inputs)
        condition_tensor = _find_condition_tensor()
        condition_input = None if condition_tensor is None else inputs.collect(condition_tensor)
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
                event_writer.writer.override(active),
                event_writer.step.override(read_step()),
                event_writer.condition.override(condition),
                warnings.warn_at(location),
                ignore_name_scopes(),
                warnings.catch_errors(call, strict=active.strict),
            ):
                repeat(*arrays)

        graph = tensorflow.compat.v1.get_default_graph()
        operations = graph.get_collection_ref(_COLLECTION)
        # A graph inherits the collections of its outer graph, whose operations it cannot use.
        previous = [operation for operation in operations[-1:] if operation.graph is graph]
        with tensorflow.control_dependencies(previous):
            operation = tensorflow.numpy_function(run, inputs.tensors, [])
        operations.append(operation)
        location = warnings.get_operation_location(operation.traceback)
        return True
    return False


def _find_step_tensor() -> object | None:
    """Return the default step if it is a tensor, which the graph has to evaluate."""
    step = event_writer.step.bind(keep_current=True)()
    return step if is_tf_tensor(step) else None


def _find_condition_tensor() -> object | None:
    """Return the condition of `record_if`, called if callable, if that is a tensor."""
    if not event_writer.condition.was_set:
        return None
    condition: object = event_writer.condition.bind(keep_current=False)()
    if callable(condition):
        try:
            condition = condition()
        except Exception:  # it may need values; then it is called when the function runs
            return None
    return condition if is_tf_tensor(condition) else None
