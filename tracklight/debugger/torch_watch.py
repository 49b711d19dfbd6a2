"""Watch a PyTorch model: operations, layers, gradients, parameters and updates.

Operations are seen by a ``TorchFunctionMode``, which PyTorch calls for every function of
``torch`` that runs in Python; layers by forward hooks; gradients by tensor hooks. Statistics are
computed where the tensor is, in main memory by `recorder` and on a device by `torch_statistics`,
and transferred together at the end of the step.
"""

from __future__ import annotations

import base64
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.overrides import TorchFunctionMode

from tracklight.debugger.recorder import (
    MAX_STORED_BYTES,
    Recorder,
    TensorFilter,
    capture_stack,
    make_matrix,
)
from tracklight.debugger.torch_statistics import (
    DeviceStatistics,
    MemoryStatistics,
    get_dtype,
    take_device_sample,
    transfer_samples,
)
from tracklight.errors import Message
from tracklight.formats.tensor_health import WatchedTensor
from tracklight.types import Float32

#: Functions that compute nothing, or nothing that could go wrong.
_IGNORED_FUNCTIONS = frozenset(
    {"__get__", "__set__", "__repr__", "__format__", "__len__", "__bool__", "__hash__", "__iter__"}
    | {"item", "tolist", "numpy", "cpu", "size", "dim", "numel", "stride", "data_ptr"}
    | {"is_floating_point", "register_hook", "requires_grad_", "backward", "zero_", "get_device"}
    | {"empty", "empty_like", "new_empty", "_make_subclass", "clone", "detach", "storage_offset"}
)  # fmt: skip
_COMPILED_NOTE = Message(
    "debugger.note_compiled",
    "The model is compiled, so only its inputs, outputs, gradients and parameters are recorded. "
    "Run it without torch.compile to record every layer and operation.",
)


class TorchWatcher:
    """Record a training loop; see `tracklight.debugger.watch`."""

    def __init__(
        self,
        model: torch.nn.Module,
        recorder: Recorder,
        *,
        tensor_filter: TensorFilter,
        gradients: bool = True,
        parameters: bool = True,
        first_step: int = 0,
    ) -> None:
        self._model = model
        self._recorder = recorder
        self._filter = tensor_filter
        self._records_gradients = gradients
        self._records_parameters = parameters
        self.current_step = first_step
        self._is_compiled = _is_compiled(model)
        self._handles: list[Any] = []
        self._mode = _FunctionMode(self)
        self._module_stack: list[_ModuleCall] = []
        self._parameter_rows: dict[int, int] = {}
        self._is_busy = False
        self._has_explicit_steps = False
        self._scale: float | None = None
        self._previous_scale: float | None = None
        self._memory_rows = MemoryStatistics()
        self._reset_step()

    def _reset_step(self) -> None:
        self._memory_rows.reset()
        self._device_rows = DeviceStatistics()
        self._device_samples: dict[int, torch.Tensor] = {}
        self._takes_samples = False
        self._producers: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._consumers: dict[int, list[int]] = {}
        self._kept: dict[int, tuple[torch.Tensor, list[torch.Tensor]]] = {}
        self._forward: dict[
            int, tuple[weakref.ref[torch.Tensor], list[weakref.ref[torch.Tensor]]]
        ] = {}
        self._batch: list[torch.Tensor] = []
        self._scaled: dict[int, torch.Tensor] = {}
        self._calls: Counter[str] = Counter()
        self._order = 0
        self._has_started = self._saw_backward = False
        self._snapshot: list[torch.Tensor] | None = None
        self._random_state: dict[str, str] = {}
        self._is_skipped = False

    # ---- lifetime

    def __enter__(self) -> TorchWatcher:
        for name, module in self._model.named_modules():
            if self._is_compiled and module is not self._model:
                continue
            before = _make_hook(self._before_module, name)
            after = _make_hook(self._after_module, name)
            self._handles += [
                module.register_forward_pre_hook(before, with_kwargs=True),
                module.register_forward_hook(after, with_kwargs=True, always_call=True),
            ]
        for name, parameter in self._model.named_parameters():
            self._add_parameter(name, parameter)
        self._handles.append(_watch_scaler(self))
        if self._is_compiled:
            self._recorder.notes.append(_COMPILED_NOTE)
        else:
            self._mode.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._is_compiled:
            self._mode.__exit__(kind, error, trace)
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        try:
            if self._has_started and self._rows_recorded():
                self._end_step()
        finally:
            self._recorder.close()

    def step(self) -> None:
        """End the current step.

        Without calls of this method, a step ends when the model is called after a backward pass.
        """
        self._has_explicit_steps = True
        self._end_step()

    def _end_step(self) -> None:
        if not self._has_started:
            return
        step, self._is_busy = self.current_step, True
        try:
            with torch.no_grad(), torch._C.DisableTorchFunction():
                self._add_parameters()
                matrix = self._collect()
        finally:
            self._is_busy = False
        self.current_step += 1
        kept, batch, state = self._kept, self._batch, self._random_state
        is_skipped = self._is_skipped
        samples = self._memory_rows.samples | transfer_samples(self._device_samples)
        if self._scale is not None:
            self._divide_gradients(matrix, samples, self._previous_scale or self._scale)
            self._recorder.log_loss_scale(step, self._scale, is_skipped)
        self._reset_step()
        self._recorder.end_step(
            step,
            matrix,
            is_skipped=is_skipped,
            get_samples=lambda: _collect_samples(samples, kept),
            get_values=lambda row: _collect_values(self._recorder, row, kept, batch),
            random_state=state,
        )

    # ---- forward

    def _before_module(
        self, name: str, module: torch.nn.Module, args: Any, kwargs: Mapping[str, Any]
    ) -> None:
        if module is self._model and not self._is_busy:
            if self._saw_backward and not self._has_explicit_steps:
                self._end_step()
            if torch.is_grad_enabled():
                self._start_step(args, kwargs)
        self._module_stack.append(_ModuleCall(name, module, _is_layer(module)))

    def _after_module(
        self, name: str, module: torch.nn.Module, args: Any, kwargs: Mapping[str, Any], output: Any
    ) -> None:
        is_layer = False
        if self._module_stack and self._module_stack[-1].module is module:
            is_layer = self._module_stack.pop().is_layer
        if not self._is_recording() or self._is_inside_layer():
            return
        if not (is_layer or (self._is_compiled and module is self._model)):
            return
        own = [
            self._parameter_rows.get(id(parameter))
            for parameter in module.parameters(recurse=False)
        ]
        inputs = [*_iter_tensors((args, kwargs))]
        label = name or "model"
        # Otherwise even the attributes of tensors are looked up through the function mode.
        with torch._C.DisableTorchFunction():
            for index, tensor in enumerate(_iter_tensors(output)):
                suffix = f":{index}" if index else ""
                self._record(
                    label + suffix,
                    type(module).__name__,
                    tensor,
                    inputs,
                    [row for row in own if row is not None],
                )

    def _start_step(self, args: Any, kwargs: Mapping[str, Any]) -> None:
        if self._has_started or not self._recorder.is_computed(self.current_step):
            return
        self._has_started = True
        self._takes_samples = self._recorder.schedule.includes(self.current_step)
        if self._recorder.history:
            self._random_state = _get_random_state()
        if self._records_parameters and self._recorder.schedule.includes(self.current_step):
            self._snapshot = [parameter.detach().clone() for parameter in self._model.parameters()]
        for index, tensor in enumerate(_iter_tensors((args, kwargs))):
            self._record(f"input {index}" if index else "input", "", tensor, (), role="input")
            self._batch.append(tensor.detach())

    def record_function(self, name: str, args: Any, kwargs: Any, result: Any) -> None:
        """Called with every function of ``torch`` that has run."""
        if not self._is_recording() or self._is_inside_layer():
            return
        inputs = [*_iter_tensors((args, kwargs))]
        if not inputs or self._is_between_steps():
            return
        for index, tensor in enumerate(_iter_tensors(result)):
            source = self._find_alias(name, tensor, inputs)
            if source is not None:
                row = self._find_row(source)
                if row is not None:
                    self._set_row(tensor, row)
                continue
            scope = self._module_stack[-1].name if self._module_stack else ""
            label = f"{scope}/{name}" if scope else name
            if index == 0:
                self._record_arguments(label, inputs)
            self._record(f"{label}:{index}" if index else label, name, tensor, inputs)

    def _record_arguments(self, label: str, inputs: Sequence[torch.Tensor]) -> None:
        """Record arguments of a function that come from outside, such as the targets of a loss."""
        for index, tensor in enumerate(inputs):
            if self._find_row(tensor) is None and not tensor.requires_grad:
                self._record(f"{label} argument {index}", "", tensor, (), role="input")

    def note_backward(self, loss: Any) -> None:
        """Called when ``backward`` of a tensor begins."""
        loss = self._scaled.get(id(loss), loss)
        if isinstance(loss, torch.Tensor) and self._is_recording():
            self._record("loss", "", loss.detach(), [loss], role="loss")
        self._saw_backward = self._saw_backward or self._has_started

    def _is_recording(self) -> bool:
        return self._has_started and not self._is_busy and torch.is_grad_enabled()

    def _is_between_steps(self) -> bool:
        """Whether a step may have ended: what follows probably prepares the next batch."""
        is_outside = not self._module_stack
        return is_outside and self._saw_backward and not self._has_explicit_steps

    def _is_inside_layer(self) -> bool:
        return bool(self._module_stack) and self._module_stack[-1].is_layer

    def _record(
        self,
        label: str,
        kind: str,
        tensor: torch.Tensor,
        inputs: Sequence[torch.Tensor],
        input_rows: Sequence[int] = (),
        role: str = "output",
    ) -> None:
        if not tensor.is_floating_point() or tensor.numel() == 0:
            return
        calls = self._calls[label + role]
        self._calls[label + role] += 1
        name = f"{label}_{calls}" if calls else label
        row = self._recorder.find(name, role)
        if row is None:
            if not self._filter.matches(name, kind, get_dtype(tensor)):
                return
            rows = [*input_rows, *(self._find_row(item) for item in inputs)]
            axis = _find_channel_axis(kind, tensor)
            row = self._recorder.add(
                WatchedTensor(
                    name=name,
                    role=role,
                    type=kind,
                    dtype=get_dtype(tensor),
                    size=tensor.numel(),
                    shape=tuple(tensor.shape),
                    channels=0 if axis is None else tensor.shape[axis],
                    inputs=tuple(dict.fromkeys(item for item in rows if item is not None)),
                ),
                capture_stack(),
            )
        for input_row in self._recorder.tensors[row].inputs:
            self._consumers.setdefault(input_row, []).append(row)
        self._compute(row, tensor)
        if role != "loss":
            self._set_row(tensor, row)
        if self._recorder.history:
            self._keep(row, tensor, inputs)
        if role == "output" and self._records_gradients and tensor.requires_grad:
            self._watch_gradient(tensor, row)

    def _keep(self, row: int, tensor: torch.Tensor, inputs: Sequence[torch.Tensor]) -> None:
        """Keep a tensor and its inputs for a report.

        In main memory it is known at once whether a tensor is finite. Keeping one that is would
        delay the release of its memory; references suffice, in case its gradient is not finite.
        """
        with torch._C.DisableTorchFunction():
            if tensor.nbytes > MAX_STORED_BYTES:
                return
            values = self._memory_rows.rows.get(row)
            if values is not None and not _has_bad_values(values):
                self._forward[row] = weakref.ref(tensor), [weakref.ref(item) for item in inputs]
            else:
                self._kept[row] = tensor.detach(), [item.detach() for item in inputs]

    def _keep_forward(self, row: int) -> None:
        """Keep the tensor of a non-finite gradient, if it still exists."""
        if row not in self._forward:
            return
        reference, input_references = self._forward[row]
        tensor = reference()
        if tensor is not None:
            found = [it for reference in input_references if (it := reference()) is not None]
            with torch._C.DisableTorchFunction():
                self._kept[row] = tensor.detach(), [item.detach() for item in found]

    def _find_row(self, tensor: torch.Tensor) -> int | None:
        known = self._producers.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        return self._parameter_rows.get(id(tensor))

    def _set_row(self, tensor: torch.Tensor, row: int) -> None:
        self._producers[id(tensor)] = weakref.ref(tensor), row

    @staticmethod
    def _find_alias(
        name: str, tensor: torch.Tensor, inputs: Sequence[torch.Tensor]
    ) -> torch.Tensor | None:
        """Return the input that a result is a view of; None if it was computed."""
        if name.endswith("_") and not name.endswith("__"):
            return None  # in place
        address = tensor.untyped_storage().data_ptr()
        for item in inputs:
            if item.untyped_storage().data_ptr() == address:
                return item
        return None

    # ---- backward

    def _watch_gradient(self, tensor: torch.Tensor, row: int) -> None:
        watcher = weakref.ref(self)

        def hook(gradient: torch.Tensor) -> None:
            self = watcher()
            if self is not None and self._has_started:
                self._record_gradient(row, gradient)

        tensor.register_hook(hook)

    def _record_gradient(self, row: int, gradient: torch.Tensor) -> None:
        self._is_busy, was_busy = True, self._is_busy
        try:
            gradient_row = self._get_gradient_row(row, gradient)
            self._compute(gradient_row, gradient)
            values = self._memory_rows.rows.get(gradient_row)
            if values is not None and _has_bad_values(values) and row not in self._kept:
                self._keep_forward(row)
        finally:
            self._is_busy = was_busy

    def _get_gradient_row(self, row: int, gradient: torch.Tensor) -> int:
        tensors = self._recorder.tensors
        tensor = tensors[row]
        found = self._recorder.find(tensor.name, "gradient")
        if found is not None:
            return found
        consumer_rows = self._consumers.get(row, ())
        consumers = [tensors[consumer_row] for consumer_row in consumer_rows]
        rows = [
            self._recorder.find(consumer.name, "gradient")
            for consumer in consumers
            if consumer.role == "output"
        ]
        return self._recorder.add(
            WatchedTensor(
                name=tensor.name,
                role="gradient",
                # The gradient of a tensor is computed by the operations that it is an input of.
                type=", ".join(
                    dict.fromkeys(
                        f"{consumer.type} backward" for consumer in consumers if consumer.type
                    )
                ),
                dtype=get_dtype(gradient),
                size=gradient.numel(),
                shape=tuple(gradient.shape),
                inputs=tuple(item for item in rows if item is not None),
                of=row,
            ),
            self._recorder.get_stack(consumer_rows[0] if consumer_rows else row),
        )

    def _add_parameter(self, name: str, parameter: torch.nn.Parameter) -> None:
        if not parameter.is_floating_point() or not self._filter.matches(
            name, "", get_dtype(parameter)
        ):
            return
        row = self._recorder.add(
            WatchedTensor(
                name=name,
                role="parameter",
                dtype=get_dtype(parameter),
                size=parameter.numel(),
                shape=tuple(parameter.shape),
            )
        )
        self._parameter_rows[id(parameter)] = row
        if not self._records_gradients or not parameter.requires_grad:
            return
        watcher = weakref.ref(self)

        def hook(parameter: torch.Tensor) -> None:
            self = watcher()
            if self is not None and self._has_started and parameter.grad is not None:
                self._saw_backward = True
                self._record_gradient(row, parameter.grad)

        self._handles.append(parameter.register_post_accumulate_grad_hook(hook))

    def _add_parameters(self) -> None:
        """Add parameters, and their changes, at the end of a step."""
        if not self._records_parameters or not self._recorder.schedule.includes(self.current_step):
            return
        for index, (name, parameter) in enumerate(self._model.named_parameters()):
            row = self._parameter_rows.get(id(parameter))
            if row is None:
                continue
            if self._snapshot is not None and not self._is_skipped:
                before = self._snapshot[index]
                # The update is not to blame for values that were not finite before.
                update = torch.where(before.isfinite(), parameter.detach() - before, 0)
                described = WatchedTensor(
                    name=name,
                    role="update",
                    dtype=get_dtype(update),
                    size=update.numel(),
                    shape=tuple(update.shape),
                    of=row,
                )
                self._compute(self._recorder.add(described), update)
            self._compute(row, parameter.detach())

    def scale_loss(self, scale: Callable[[], Any], outputs: Any) -> Any:
        """Call ``GradScaler.scale`` without recording the scaled loss, which may overflow."""
        self._is_busy, was_busy = True, self._is_busy
        try:
            scaled = scale()
        finally:
            self._is_busy = was_busy
        if isinstance(scaled, torch.Tensor) and isinstance(outputs, torch.Tensor):
            self._scaled[id(scaled)] = outputs
        return scaled

    def note_scale(self, before: float, after: float) -> None:
        """Called with the old and the new loss scale when a GradScaler is updated."""
        self._previous_scale, self._scale = before, after
        self._is_skipped = after < before

    def _divide_gradients(self, matrix: Float32, samples: dict[int, Float32], scale: float) -> None:
        rows = [
            row for row, tensor in enumerate(self._recorder.tensors) if tensor.role == "gradient"
        ]
        matrix[rows, 6:11] /= scale
        for row in rows:
            if row in samples:
                samples[row] = samples[row] / np.float32(scale)

    # ---- statistics

    def _compute(self, row: int, tensor: torch.Tensor) -> None:
        order, self._order = self._order, self._order + 1
        with torch._C.DisableTorchFunction():
            axis = _find_channel_axis(self._recorder.tensors[row].type, tensor)
            if tensor.is_cpu and tensor.layout == torch.strided:
                self._memory_rows.compute(row, order, tensor, axis)
                return
            tensor = tensor.detach()
            self._device_rows.add(row, order, tensor, axis)
            if self._takes_samples:
                self._device_samples[row] = take_device_sample(tensor)

    def _collect(self) -> Float32:
        """Return the health matrix; all rows on a device are transferred together."""
        rows = self._memory_rows.rows | self._device_rows.collect()
        return make_matrix(rows, len(self._recorder.tensors))

    def _rows_recorded(self) -> bool:
        return bool(self._memory_rows.rows or self._device_rows)


class _ModuleCall(NamedTuple):
    """A module that is running."""

    name: str
    module: torch.nn.Module
    is_layer: bool


class _FunctionMode(TorchFunctionMode):  # type: ignore[misc]
    """Tells a watcher about every function of ``torch`` that is called from Python."""

    def __init__(self, watcher: TorchWatcher) -> None:
        super().__init__()
        self._watcher = watcher

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name == "backward" and args:
            self._watcher.note_backward(args[0])
        result = func(*args, **kwargs)
        if name not in _IGNORED_FUNCTIONS:
            self._watcher.record_function(name.strip("_"), args, kwargs, result)
        return result


class _Handle:
    """Undoes something, like the handles of PyTorch's hooks."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self.remove = remove


def _watch_scaler(watcher: TorchWatcher) -> _Handle:
    """Tell a watcher about the use of every GradScaler."""
    scaler_class: Any = torch.amp.GradScaler
    original_update, original_scale = scaler_class.update, scaler_class.scale

    def update(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = self.get_scale()
        result = original_update(self, *args, **kwargs)
        if self.is_enabled():
            watcher.note_scale(before, self.get_scale())
        return result

    def scale(self: Any, outputs: Any) -> Any:
        return watcher.scale_loss(lambda: original_scale(self, outputs), outputs)

    scaler_class.update, scaler_class.scale = update, scale

    def restore() -> None:
        scaler_class.update, scaler_class.scale = original_update, original_scale

    return _Handle(restore)


def _make_hook(function: Callable[..., None], name: str) -> Callable[..., None]:
    def hook(module: Any, *arguments: Any) -> None:
        function(name, module, *arguments)

    return hook


def _has_bad_values(values: Float32) -> bool:
    """Whether a row of the health matrix has NaN or infinities."""
    return bool(values[1] or values[2] or values[3])


def _is_compiled(model: torch.nn.Module) -> bool:
    return any(hasattr(module, "_orig_mod") for module in model.modules())


def _is_layer(module: torch.nn.Module) -> bool:
    """Whether a module is recorded as a whole: a layer of PyTorch without children."""
    return type(module).__module__.startswith("torch.nn.") and not any(module.children())


def _iter_tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from _iter_nested(value.values())
    elif isinstance(value, (list, tuple)):
        yield from _iter_nested(value)


def _iter_nested(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        yield from _iter_tensors(value)


def _find_channel_axis(kind: str, tensor: torch.Tensor) -> int | None:
    """Return the axis of the units of an activation that may be dead."""
    if "relu" not in kind.lower() or "backward" in kind or tensor.ndim < 2:
        return None
    return tensor.ndim - 1 if tensor.ndim == 3 else 1


def _get_random_state() -> dict[str, str]:
    state = {"torch": base64.b64encode(torch.get_rng_state().numpy().tobytes()).decode()}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        cuda = torch.cuda.get_rng_state().numpy().tobytes()
        state["torch.cuda"] = base64.b64encode(cuda).decode()
    return state


def _collect_samples(
    samples: dict[int, Float32], kept: Mapping[int, tuple[torch.Tensor, list[torch.Tensor]]]
) -> dict[int, Float32]:
    """Return the samples of a step; if none were taken, those of the tensors that are kept."""
    if samples:
        return samples
    with torch.no_grad(), torch._C.DisableTorchFunction():
        return transfer_samples({row: take_device_sample(item) for row, (item, _) in kept.items()})


def _collect_values(
    recorder: Recorder,
    row: int,
    kept: Mapping[int, tuple[torch.Tensor, list[torch.Tensor]]],
    batch: Sequence[torch.Tensor],
) -> dict[str, NDArray[Any]]:
    """Return the tensors that belong to a report, by description."""
    tensor = recorder.tensors[row]
    found = kept.get(row if row in kept else tensor.of)
    values: dict[str, torch.Tensor] = {}
    if found is not None:
        values["output"] = found[0]
        values |= {f"input {index}": item for index, item in enumerate(found[1])}
    values |= {f"batch {index}": item for index, item in enumerate(batch)}
    return {name: _to_numpy(item) for name, item in values.items()}


def _to_numpy(tensor: torch.Tensor) -> NDArray[Any]:
    with torch._C.DisableTorchFunction():
        tensor = tensor.detach().cpu()
        array: NDArray[Any] = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return array
