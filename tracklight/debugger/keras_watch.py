"""Watch a Keras 3 model on any of its backends.

The callback wraps ``call`` of every layer, ``compute_loss`` of the model and ``apply`` of its
optimizer. The wrappers add statistics to the training step, which are computed on the device, and
pass them to Python: directly in PyTorch, by a callback of the compiled step in JAX and TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np

from tracklight.debugger.recorder import (
    RANGES,
    SAMPLE_SIZE,
    Recorder,
    TensorFilter,
    capture_stack,
    make_location,
    make_matrix,
    make_row,
)
from tracklight.errors import Message
from tracklight.formats.tensor_health import STATS, SourceLocation, WatchedTensor
from tracklight.types import Float32
from tracklight.util.parsing import is_library_path

_XLA_NOTE = Message(
    "debugger.note_xla",
    "The model was compiled without XLA (jit_compile=False) while it was watched.",
)
#: Statistics that are computed with the tensor.
_COLUMNS = len(STATS) - 1


def create_callback(
    model: keras.Model,
    make_recorder: Callable[[], Recorder],
    *,
    tensor_filter: TensorFilter,
    gradients: bool = True,
    parameters: bool = True,
    first_step: int = 0,
) -> keras.callbacks.Callback:
    """Return a callback for ``model.fit``; see `tracklight.debugger.watch`."""
    return DebuggerCallback(
        model, make_recorder(), tensor_filter, gradients, parameters, first_step
    )


class DebuggerCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """Records a call of ``fit``."""

    def __init__(
        self,
        model: keras.Model,
        recorder: Recorder,
        tensor_filter: TensorFilter,
        gradients: bool,
        parameters: bool,
        first_step: int,
    ) -> None:
        super().__init__()
        self._watched = model
        self._recorder = recorder
        self._filter = tensor_filter
        self._records_gradients = gradients
        self._records_parameters = parameters
        self.current_step = first_step
        self._rows: dict[int, Float32] = {}
        self._received: dict[int, Any] = {}
        self._restore: list[Callable[[], None]] = []
        self._samples: dict[int, Float32] = {}
        self._producers: dict[int, int] = {}
        self._calls: dict[str, int] = {}
        self._is_training = False

    def on_train_begin(self, logs: Any = None) -> None:
        model = self._watched
        for layer in model._flatten_layers(include_self=True, recursive=True):
            if layer is not model or not model.layers:
                self._wrap(layer, "call", self._wrap_call(layer))
        self._wrap(model, "compute_loss", self._wrap_loss(model.compute_loss))
        self._wrap(model.optimizer, "apply", self._wrap_apply(model.optimizer))
        if keras.backend.backend() == "tensorflow" and model.jit_compile:
            jit_compile, model.jit_compile = model.jit_compile, False
            self._restore.append(lambda: setattr(model, "jit_compile", jit_compile))
            self._recorder.notes.append(_XLA_NOTE)
        model.make_train_function(force=True)
        self._is_training = True

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._rows = {}
        self._received = {}
        self._samples = {}
        self._is_training = True

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if keras.backend.backend() == "jax":
            import jax

            jax.effects_barrier()
        step, self.current_step = self.current_step, self.current_step + 1
        if not self._recorder.is_computed(step):
            return
        self._convert_received()
        if self._records_parameters and self._recorder.schedule.includes(step):
            self._add_parameters()
        matrix = make_matrix(self._rows, len(self._recorder.tensors))
        try:
            self._recorder.end_step(step, matrix, get_samples=lambda: self._samples)
        except FloatingPointError:
            self._finish()
            raise

    def on_test_begin(self, logs: Any = None) -> None:
        self._is_training = False

    def on_train_end(self, logs: Any = None) -> None:
        self._finish()

    def _finish(self) -> None:
        for restore in reversed(self._restore):
            restore()
        self._restore.clear()
        self._watched.train_function = None
        self._recorder.close()

    # ---- wrappers

    def _wrap(self, owner: Any, name: str, wrapper: Callable[..., Any]) -> None:
        object.__setattr__(owner, name, wrapper)

        def restore() -> None:
            owner.__dict__.pop(name, None)

        self._restore.append(restore)

    def _wrap_call(self, layer: Any) -> Callable[..., Any]:
        original = layer.call

        def call(*args: Any, **kwargs: Any) -> Any:
            inputs = [*_iter_tensors(args)]
            is_first = not self._producers
            if self._is_training and is_first:
                for index, tensor in enumerate(inputs):
                    self._record(f"input {index}" if index else "input", "", tensor, [], "input")
            outputs = original(*args, **kwargs)
            if self._is_training and not layer._layers:
                rows = [self._producers.get(id(item)) for item in inputs]
                rows += [self._find_parameter(variable) for variable in layer.variables]
                for index, tensor in enumerate(_iter_tensors(outputs)):
                    name = f"{layer.name}:{index}" if index else layer.name
                    self._record(
                        name,
                        _get_type(layer),
                        tensor,
                        rows,
                        "output",
                        defined=_find_definition(layer),
                    )
            return outputs

        return call

    def _wrap_loss(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def compute_loss(*args: Any, **kwargs: Any) -> Any:
            loss = original(*args, **kwargs)
            if self._is_training and loss is not None:
                predictions = kwargs.get("y_pred", args[2] if len(args) > 2 else None)
                rows = [self._producers.get(id(tensor)) for tensor in _iter_tensors(predictions)]
                kind = getattr(self._watched.loss, "__name__", None) or str(self._watched.loss)
                self._record("loss", kind, loss, rows, "loss")
            self._producers.clear()
            self._calls.clear()
            return loss

        return compute_loss

    def _wrap_apply(self, optimizer: Any) -> Callable[..., Any]:
        original = optimizer.apply

        def apply(grads: Any, trainable_variables: Any = None) -> Any:
            variables = trainable_variables or optimizer._trainable_variables
            if self._is_training and self._records_gradients:
                for variable, gradient in zip(variables, grads, strict=False):
                    if gradient is not None:
                        self._record(variable.path, "backward", gradient, [], "gradient", variable)
            self._producers.clear()
            self._calls.clear()
            return original(grads, trainable_variables)

        return apply

    # ---- recording

    def _record(
        self,
        label: str,
        kind: str,
        tensor: Any,
        inputs: list[int | None],
        role: str,
        variable: Any = None,
        defined: SourceLocation | None = None,
    ) -> None:
        dtype = keras.backend.standardize_dtype(tensor.dtype)
        if "float" not in dtype:
            return
        calls = self._calls.get(label + role, 0)
        self._calls[label + role] = calls + 1
        name = f"{label}_{calls}" if calls else label
        if not self._filter.matches(name, kind, dtype):
            return
        shape = tuple(int(item) if item is not None else -1 for item in tensor.shape)
        axis = len(shape) - 1 if "relu" in kind.lower() and len(shape) > 1 else None
        row = self._recorder.find(name, role)
        if row is None:
            parameter = None if variable is None else self._find_parameter(variable)
            stack = capture_stack()
            if defined is not None:
                stack = (*stack, defined)
            row = self._recorder.add(
                WatchedTensor(
                    name=name,
                    role=role,
                    type=kind,
                    dtype=dtype,
                    size=max(int(np.prod(shape, dtype=np.int64)), 0),
                    shape=shape,
                    channels=0 if axis is None else max(shape[axis], 0),
                    inputs=tuple(dict.fromkeys(item for item in inputs if item is not None)),
                    of=-1 if parameter is None else parameter,
                ),
                stack,
            )
        self._producers[id(tensor)] = row
        _deliver(self._receive, row, _compute_statistics(tensor, dtype, axis))

    def _receive(self, row: int, statistics: Any) -> None:
        # Converted later: a callback of JAX that waits for an array may wait for itself.
        self._received[row] = statistics

    def _convert_received(self) -> None:
        arrived, self._received = self._received, {}
        for row, statistics in arrived.items():
            values = make_row()
            # Callbacks may arrive in any order; tensors are numbered as they were traced.
            values[0] = row
            received = np.asarray(statistics, np.float32)
            values[1:] = received[:_COLUMNS]
            self._rows[row] = values
            self._samples[row] = received[_COLUMNS:]

    def _find_parameter(self, variable: Any) -> int | None:
        if not self._records_parameters or "float" not in str(variable.dtype):
            return None
        name = variable.path
        if not self._filter.matches(name, "", str(variable.dtype)):
            return None
        return self._recorder.add(
            WatchedTensor(
                name=name,
                role="parameter",
                dtype=str(variable.dtype),
                size=int(np.prod(variable.shape, dtype=np.int64)),
                shape=tuple(variable.shape),
            )
        )

    def _add_parameters(self) -> None:
        if keras.backend.backend() == "jax":
            self._watched.jax_state_sync()
        last = len(self._recorder.tensors)
        for variable in self._watched.trainable_variables:
            row = self._find_parameter(variable)
            if row is not None:
                array = np.asarray(keras.ops.convert_to_numpy(variable), np.float32)
                statistics = _compute_statistics(
                    keras.ops.convert_to_tensor(array), "float32", None
                )
                self._receive(row, keras.ops.convert_to_numpy(statistics))
                self._convert_received()
                self._rows[row][0] = last + row


def _deliver(receive: Callable[[int, Any], None], row: int, statistics: Any) -> None:
    """Pass statistics to Python when the training step computes them."""
    backend = keras.backend.backend()
    if backend == "torch":
        receive(row, statistics.detach().cpu().numpy())
    elif backend == "jax":
        import jax

        jax.debug.callback(lambda values: receive(row, values), statistics)
    else:
        import tensorflow as tf

        def call(values: Any) -> None:
            receive(row, values)

        tf.numpy_function(call, [statistics], [])


def _compute_statistics(tensor: Any, dtype: str, axis: int | None) -> Any:
    """Return the columns after ``order``, followed by a sample of the values."""
    ops = keras.ops
    values = ops.cast(ops.stop_gradient(tensor), "float32")
    is_finite = ops.isfinite(values)
    zeros = ops.zeros_like(values)
    finite = ops.where(is_finite, values, zeros)
    count = ops.maximum(_count(is_finite), 1.0)
    squares = ops.sum(finite * finite)
    mean = ops.sum(finite) / count
    overflow = underflow = dead = ops.zeros((), "float32")
    if dtype in RANGES:
        limit, tiny = RANGES[dtype]
        magnitude = ops.abs(values)
        overflow = _count(magnitude >= limit)
        underflow = _count(ops.logical_and(magnitude > 0, magnitude < tiny))
    if axis is not None:
        others = tuple(range(axis))
        dead = _count(ops.logical_not(ops.any(ops.not_equal(values, 0), axis=others)))
    columns = [
        _count(ops.isnan(values)),
        _count(ops.equal(values, zeros - np.inf)),
        _count(ops.equal(values, zeros + np.inf)),
        _count(ops.equal(values, 0)),
        _count(finite < 0),
        ops.min(ops.where(is_finite, values, zeros + np.inf)),
        ops.max(ops.where(is_finite, values, zeros - np.inf)),
        mean,
        ops.sqrt(ops.maximum(squares / count - mean * mean, 0.0)),
        ops.sqrt(squares),
        overflow,
        underflow,
        dead,
    ]
    flat = ops.reshape(values, (-1,))
    # With TensorFlow the size is known only when the step runs.
    stride = ops.shape(flat)[0] // SAMPLE_SIZE + 1
    return ops.concatenate(
        [ops.stack([ops.cast(column, "float32") for column in columns]), flat[::stride]]
    )


def _count(condition: Any) -> Any:
    return keras.ops.sum(keras.ops.cast(condition, "float32"))


def _get_type(layer: Any) -> str:
    """Return the class of a layer, with its activation."""
    activation = getattr(getattr(layer, "activation", None), "__name__", "linear")
    name = type(layer).__name__
    return name if activation == "linear" else f"{name} {activation}"


def _find_definition(layer: Any) -> SourceLocation | None:
    """Return where the user's program defines ``call`` of a layer; None for layers of Keras."""
    code = getattr(type(layer).call, "__code__", None)
    if code is None or is_library_path(code.co_filename):
        return None
    return make_location(code.co_filename, code.co_firstlineno, f"{type(layer).__name__}.call")


def _iter_tensors(value: Any) -> list[Any]:
    return [
        item
        for item in keras.tree.flatten(value)
        if hasattr(item, "dtype") and hasattr(item, "shape")
    ]
