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
from tracklight.sdk import lenient, state
from tracklight.sdk.names import as_name
from tracklight.sdk.scopes import add_scope, ignore_scopes
from tracklight.sdk.tf_tracing import find_replica, is_compiled_by_xla

#: Where a graph keeps its operations that log, the last of which the next one waits for.
_COLLECTION = "tracklight_operations"

_XLA = (
    "the function is compiled by XLA (jit_compile=True), which cannot call Python; "
    "return the value and log it outside, or set jit_compile=False"
)


@dataclass(frozen=True)
class _Input:
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
    if not _is_logged():
        return False

    def make(inputs: _Inputs) -> Callable[..., object]:
        tag = as_name(name)
        tag = add_scope(tag) if is_scoped else tag
        at = inputs.take(_find_step_tensor() if step is None else step)
        given = inputs.take(arguments), inputs.take(named)

        def repeat(*arrays: Any) -> None:
            positional, keywords = _fill(given, arrays)
            log(tag, *positional, step=_fill(at, arrays), **keywords)

        return repeat

    return _add_operation(call, make)


def call_when_run(function: Callable[..., object], call: str, *arguments: Any) -> bool:
    """Call ``function(*arguments)`` whenever the function being traced runs."""
    if not _is_logged():
        return False

    def make(inputs: _Inputs) -> Callable[..., object]:
        given = inputs.take(arguments)
        return lambda *arrays: function(*_fill(given, arrays))

    return _add_operation(call, make)


def make_condition_tensor() -> Any:
    """Return a tensor that says whether values are recorded when the function runs.

    Where the function is compiled by XLA, a bool that says whether they are now.
    """
    tensorflow: Any = sys.modules["tensorflow"]
    if not _is_logged() or not state.condition.was_set:
        return _is_logged()
    wanted = _find_condition_tensor()
    if wanted is not None:
        return tensorflow.cast(wanted, tensorflow.bool)
    if is_compiled_by_xla():
        return state.find_active_writer() is not None
    read_writer, read_condition = state.writer.bind(keep=True), state.condition.bind(keep=False)

    def evaluate() -> Any:
        import numpy as np

        with state.writer.holding(read_writer()), state.condition.holding(read_condition()):
            return np.bool_(state.find_active_writer() is not None)

    tensor = tensorflow.numpy_function(evaluate, [], tensorflow.bool)
    tensor.set_shape(())
    return tensor


def _is_logged() -> bool:
    """Return whether there is a default writer, and this replica is the one that logs."""
    if find_replica():
        return False
    return state.writer.bind(keep=True)() is not None


class _Inputs:
    """Collects the tensors among the arguments of a call, as inputs of the operation."""

    def __init__(self) -> None:
        self.tensors: list[Any] = []

    def take(self, value: Any) -> Any:
        """Return ``value`` with an `_Input` in place of each tensor."""
        if is_tensor(value):
            try:
                self.tensors.append(sys.modules["tensorflow"].convert_to_tensor(value))
            except (TypeError, ValueError):
                kind = type(value).__name__
                raise lenient.Misuse("data", f"is a {kind}; give a dense tensor") from None
            return _Input(len(self.tensors) - 1)
        if type(value) in (list, tuple):
            return type(value)(self.take(item) for item in value)
        if isinstance(value, Mapping):
            return {key: self.take(item) for key, item in value.items()}
        if hasattr(value, "map_data"):  # tracklight.Image and the like
            return value.map_data(self.take)
        return value


def is_tensor(value: object) -> bool:
    """Return whether a value is a tensor or variable of TensorFlow."""
    tensorflow: Any = sys.modules["tensorflow"]
    return bool(tensorflow.is_tensor(value)) or hasattr(value, "__tf_tensor__")


def _fill(value: Any, arrays: tuple[Any, ...]) -> Any:
    if isinstance(value, _Input):
        return arrays[value.index]
    if type(value) in (list, tuple):
        return type(value)(_fill(item, arrays) for item in value)
    if isinstance(value, Mapping):
        return {key: _fill(item, arrays) for key, item in value.items()}
    if hasattr(value, "map_data"):
        return value.map_data(lambda item: _fill(item, arrays))
    return value


def _add_operation(call: str, make: Callable[[_Inputs], Callable[..., object]]) -> bool:
    """Add an operation that calls what ``make`` returns with the values of its inputs."""
    read_writer, read_step = state.writer.bind(keep=True), state.step.bind(keep=True)
    read_condition = state.condition.bind(keep=False)
    writer = read_writer()
    assert writer is not None
    with lenient.guard(call, strict=writer.strict):
        if is_compiled_by_xla():
            raise UsageError(_XLA)
        tensorflow: Any = sys.modules["tensorflow"]
        inputs = _Inputs()
        repeat = make(inputs)
        wanted = _find_condition_tensor()
        condition_input = None if wanted is None else inputs.take(wanted)
        location = lenient.Location("<unknown>", 0, "__main__")

        def run(*arrays: Any) -> None:
            active = read_writer()
            if active is None:
                return
            condition = (
                read_condition()
                if condition_input is None
                else bool(_fill(condition_input, arrays))
            )
            with (
                state.writer.holding(active),
                state.step.holding(read_step()),
                state.condition.holding(condition),
                lenient.warn_at(location),
                ignore_scopes(),
                lenient.guard(call, strict=active.strict),
            ):
                repeat(*arrays)

        graph = tensorflow.compat.v1.get_default_graph()
        added = graph.get_collection_ref(_COLLECTION)
        # A graph inherits the collections of the one around it, whose operations it cannot use.
        before = [operation for operation in added[-1:] if operation.graph is graph]
        with tensorflow.control_dependencies(before):
            operation = tensorflow.numpy_function(run, inputs.tensors, [])
        added.append(operation)
        location = lenient.locate_operation(operation.traceback)
        return True
    return False


def _find_step_tensor() -> object | None:
    """Return the default step if it is a tensor, whose value is to be read in the graph."""
    step = state.step.bind(keep=True)()
    return step if is_tensor(step) else None


def _find_condition_tensor() -> object | None:
    """Return what `record_if` was given, or what that returns, if it is a tensor."""
    if not state.condition.was_set:
        return None
    wanted: object = state.condition.bind(keep=False)()
    if callable(wanted):
        try:
            wanted = wanted()
        except Exception:  # it may need values: then it is called when the function runs
            return None
    return wanted if is_tensor(wanted) else None
