"""Watch a JAX function: every operation of a training step, also under ``jit``.

The function is traced to a jaxpr, which is evaluated operation by operation in a new function that
also returns the statistics of all floating-point results. That function is compiled, so the
statistics are computed on the device and transferred once per step. Calls of ``jit`` and of custom
derivatives are entered; of loops (``scan``, ``while``) and branches only the results are seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from numpy.typing import NDArray

from tracklight.debugger.recorder import (
    RANGES,
    Recorder,
    TensorFilter,
    capture_stack,
    get_sample_stride,
    make_location,
)
from tracklight.formats.tensor_health import STATS, SourceLocation, WatchedTensor
from tracklight.types import Float32
from tracklight.util.parsing import is_library_path

#: Calls that are entered, and the parameter that holds what they call.
_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
}
#: Operations that only move values.
_MOVES = frozenset(
    {"broadcast_in_dim", "reshape", "transpose", "squeeze", "copy", "copy_p", "slice", "rev"}
    | {"stop_gradient", "device_put", "sharding_constraint", "optimization_barrier", "expand_dims"}
)


class WatchedFunction:
    """A function that is called instead of the watched one; see `tracklight.debugger.watch`."""

    def __init__(
        self,
        function: Callable[..., Any],
        recorder: Recorder,
        *,
        tensor_filter: TensorFilter,
        gradients: bool = True,
        parameters: bool = True,
        first_step: int = 0,
    ) -> None:
        self._function = function
        self._recorder = recorder
        self._filter = tensor_filter
        self._records_gradients = gradients
        self._records_arguments = parameters
        self.current_step = first_step
        self._programs: dict[Any, _Program] = {}
        self._stack: tuple[SourceLocation, ...] = ()
        self.__name__ = getattr(function, "__name__", "watched")

    def __enter__(self) -> WatchedFunction:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write what is left and close the event file."""
        self._recorder.close()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run one step."""
        step, self.current_step = self.current_step, self.current_step + 1
        if not self._recorder.is_computed(step):
            return self._function(*args, **kwargs)
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        static = [
            not hasattr(leaf, "dtype") and not isinstance(leaf, (int, float, complex))
            for leaf in leaves
        ]
        key = (
            tree,
            tuple(
                leaf if fixed else (np.shape(leaf), jax.dtypes.result_type(leaf))
                for leaf, fixed in zip(leaves, static, strict=True)
            ),
        )
        program = self._programs.get(key)
        if program is None:
            self._stack = capture_stack()
            program = self._programs[key] = self._build(args, kwargs, leaves, static)
        dynamic = [leaf for leaf, fixed in zip(leaves, static, strict=True) if not fixed]
        outputs, statistics, samples = program.run(*dynamic)
        table = np.asarray(statistics)
        matrix = np.full((len(self._recorder.tensors), len(STATS)), np.nan, np.float32)
        matrix[program.rows, 0] = np.arange(len(program.rows))
        matrix[program.rows, 1:] = table
        arguments = dict(zip(program.argument_names, dynamic, strict=True))
        self._recorder.end_step(
            step,
            matrix,
            get_samples=lambda: program.split_samples(samples),
            get_values=lambda row: _collect_values(arguments),
        )
        return jax.tree_util.tree_unflatten(program.out_tree, outputs)

    def _build(
        self, args: Any, kwargs: Any, leaves: Sequence[Any], static: Sequence[bool]
    ) -> _Program:
        function = self._function
        if isinstance(function, jax.stages.Wrapped):  # compiled again, with the statistics
            function = getattr(function, "__wrapped__", function)
        tree = jax.tree_util.tree_structure((args, kwargs))

        def call(*dynamic: Any) -> Any:
            remaining = iter(dynamic)
            merged = [
                leaf if fixed else next(remaining)
                for leaf, fixed in zip(leaves, static, strict=True)
            ]
            call_args, call_kwargs = jax.tree_util.tree_unflatten(tree, merged)
            return function(*call_args, **call_kwargs)

        dynamic = [leaf for leaf, fixed in zip(leaves, static, strict=True) if not fixed]
        closed, out_shape = jax.make_jaxpr(call, return_shape=True)(*dynamic)
        paths = jax.tree_util.tree_flatten_with_path((args, kwargs))[0]
        names = [
            _format_path(path) for (path, _), fixed in zip(paths, static, strict=True) if not fixed
        ]
        return _Program(self, closed, names, jax.tree_util.tree_structure(out_shape))

    def add_tensor(self, tensor: WatchedTensor) -> int | None:
        """Return the row of a tensor; None if it is not recorded."""
        if tensor.role == "gradient" and not self._records_gradients:
            return None
        if tensor.role == "input" and not self._records_arguments:
            return None
        if not self._filter.matches(tensor.name, tensor.type, tensor.dtype):
            return None
        stack = (*self._stack, tensor.source) if tensor.source.path else self._stack
        return self._recorder.add(tensor, stack)


class _Program:
    """A watched function, compiled for arguments of certain shapes."""

    def __init__(
        self, owner: WatchedFunction, closed: Any, names: list[str], out_tree: Any
    ) -> None:
        self.out_tree = out_tree
        self.argument_names = names
        self.rows: list[int] = []
        self._owner = owner
        self._calls: Counter[str] = Counter()
        self._samples: list[Any] = []
        self._sample_sizes: list[int] = []

        def evaluate(*values: Any) -> tuple[list[Any], Any, Any]:
            self.rows.clear()
            self._calls.clear()
            self._samples.clear()
            statistics: list[Any] = []
            rows: list[int | None] = [
                self._add(name, "input", "", value, (), SourceLocation(), statistics)
                for name, value in zip(names, values, strict=True)
            ]
            outputs, _ = self._evaluate(closed.jaxpr, closed.consts, values, rows, statistics, _TOP)
            table = jnp.stack(statistics) if statistics else jnp.zeros((0, len(STATS) - 1))
            samples = jnp.concatenate(self._samples) if self._samples else jnp.zeros(0)
            self._sample_sizes = [sample.size for sample in self._samples]
            self._samples.clear()
            return outputs, table, samples

        self.run = jax.jit(evaluate)

    def _evaluate(
        self,
        jaxpr: Any,
        consts: Sequence[Any],
        values: Sequence[Any],
        rows: Sequence[int | None],
        statistics: list[Any],
        caller: _Caller,
    ) -> tuple[list[Any], list[int | None]]:
        """Evaluate a jaxpr; return its results and their rows."""
        known: dict[Any, tuple[Any, int | None]] = {}
        known.update(zip(jaxpr.constvars, ((const, None) for const in consts), strict=True))
        known.update(zip(jaxpr.invars, zip(values, rows, strict=True), strict=True))

        def read(variable: Any) -> tuple[Any, int | None]:
            return (variable.val, None) if isinstance(variable, core.Literal) else known[variable]

        for equation in jaxpr.eqns:
            inputs = [read(invar) for invar in equation.invars]
            arguments, input_rows = [item for item, _ in inputs], [item for _, item in inputs]
            inner = equation.params.get(_CALLS.get(equation.primitive.name, ""))
            if inner is not None:
                body, body_consts = (
                    (inner.jaxpr, inner.consts) if hasattr(inner, "consts") else (inner, [])
                )
                results, result_rows = self._evaluate(
                    body, body_consts, arguments, input_rows, statistics, _enter(equation, caller)
                )
            else:
                results = _bind(equation, arguments)
                result_rows = self._add_results(equation, results, input_rows, statistics, caller)
            known.update(zip(equation.outvars, zip(results, result_rows, strict=True), strict=True))
        outputs = [read(outvar) for outvar in jaxpr.outvars]
        return [item for item, _ in outputs], [item for _, item in outputs]

    def _add_results(
        self,
        equation: Any,
        results: Sequence[Any],
        input_rows: Sequence[int | None],
        statistics: list[Any],
        caller: _Caller,
    ) -> list[int | None]:
        kind = equation.primitive.name
        known = tuple(dict.fromkeys(input_row for input_row in input_rows if input_row is not None))
        if kind in _MOVES:
            return [known[0] if known else None for _ in results]
        scope = _format_scope(str(equation.source_info.name_stack))
        is_gradient = "transpose(" in str(equation.source_info.name_stack)
        source = _find_source(equation) or caller.source
        if kind == "max" and "relu" in caller.name:
            kind = caller.name
        role = "gradient" if is_gradient else "output"
        rows: list[int | None] = []
        for index, result in enumerate(results):
            name = f"{scope}/{kind}" if scope else kind
            name += f":{index}" if index else ""
            type_name = f"{kind} backward" if is_gradient else kind
            rows.append(self._add(name, role, type_name, result, known, source, statistics))
        return rows

    def _add(
        self,
        label: str,
        role: str,
        kind: str,
        value: Any,
        inputs: tuple[int, ...],
        source: SourceLocation,
        statistics: list[Any],
    ) -> int | None:
        dtype = jax.dtypes.result_type(value)
        if not jnp.issubdtype(dtype, jnp.floating) or np.size(value) == 0:
            return None
        calls = self._calls[label + role]
        self._calls[label + role] += 1
        name = f"{label}_{calls}" if calls else label
        axis = np.ndim(value) - 1 if "relu" in kind and np.ndim(value) > 1 else None
        row = self._owner.add_tensor(
            WatchedTensor(
                name=name,
                role=role,
                type=kind,
                dtype=dtype.name,
                size=int(np.size(value)),
                shape=tuple(np.shape(value)),
                channels=0 if axis is None else np.shape(value)[axis],
                inputs=inputs,
                source=source,
            )
        )
        if row is not None:
            self.rows.append(row)
            array = jnp.asarray(value)
            statistics.append(_compute_statistics(array, dtype.name, axis))
            flat = array.reshape(-1)
            self._samples.append(flat[:: get_sample_stride(flat.size)].astype(jnp.float32))
        return row

    def split_samples(self, samples: Any) -> dict[int, Float32]:
        """Return the samples of a step by row; they are transferred only if they are needed."""
        if not self.rows:
            return {}
        ends = np.cumsum(self._sample_sizes)
        return dict(zip(self.rows, np.split(np.asarray(samples), ends[:-1]), strict=True))


class _Caller(NamedTuple):
    """The call that a jaxpr belongs to."""

    name: str
    source: SourceLocation


_TOP = _Caller("", SourceLocation())


def _enter(equation: Any, caller: _Caller) -> _Caller:
    name = str(equation.params.get("name", "")) or caller.name
    return _Caller(name, _find_source(equation) or caller.source)


def _bind(equation: Any, arguments: Sequence[Any]) -> list[Any]:
    bound = equation.primitive.get_bind_params(equation.params)
    # Older versions of JAX return functions to call as well.
    functions, params = bound if isinstance(bound, tuple) else ((), bound)
    results = equation.primitive.bind(*functions, *arguments, **params)
    return list(results) if equation.primitive.multiple_results else [results]


def _compute_statistics(value: Any, dtype: str, axis: int | None) -> Any:
    """Return the columns after ``order``."""
    values = value.astype(jnp.float32) if value.dtype != jnp.float64 else value
    is_finite = jnp.isfinite(values)
    finite = jnp.where(is_finite, values, 0)
    count = jnp.maximum(is_finite.sum(), 1)
    squares = (finite * finite).sum()
    mean = finite.sum() / count
    overflow = underflow = dead = jnp.zeros(())
    if dtype in RANGES:
        limit, tiny = RANGES[dtype]
        magnitude = jnp.abs(values)
        overflow = (magnitude >= limit).sum()
        underflow = ((magnitude > 0) & (magnitude < tiny)).sum()
    if axis is not None:
        others = tuple(item for item in range(values.ndim) if item != axis)
        dead = (~jnp.any(values != 0, axis=others)).sum()
    columns = (
        jnp.isnan(values).sum(),
        (values == -jnp.inf).sum(),
        (values == jnp.inf).sum(),
        (values == 0).sum(),
        (finite < 0).sum(),
        jnp.where(is_finite, values, jnp.inf).min(),
        jnp.where(is_finite, values, -jnp.inf).max(),
        mean,
        jnp.sqrt(jnp.maximum(squares / count - mean * mean, 0)),
        jnp.sqrt(squares),
        overflow,
        underflow,
        dead,
    )
    return jnp.stack([jnp.asarray(column, jnp.float32) for column in columns])


def _find_source(equation: Any) -> SourceLocation | None:
    """Return the innermost line of the user's program that created an operation."""
    traceback = equation.source_info.traceback
    frames = [] if traceback is None else traceback.frames
    for frame in frames:
        if not is_library_path(frame.file_name):
            return make_location(frame.file_name, frame.line_num, frame.function_name)
    return None


def _format_scope(name_stack: str) -> str:
    """Remove the transformations from a name stack: ``transpose(jvp(Dense_0))`` is ``Dense_0``."""
    scope = name_stack
    for word in ("transpose", "jvp", "vmap", "remat", "checkpoint", "jit"):
        scope = scope.replace(f"{word}(", "")
    return scope.replace(")", "").strip("/")


def _format_path(path: Sequence[Any]) -> str:
    names = [
        str(getattr(item, "key", getattr(item, "idx", getattr(item, "name", item))))
        for item in path[1:]
    ]
    return "/".join(["argument", *names])


def _collect_values(arguments: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return the arguments of the step as arrays; they were not donated if they can be read."""
    values = {}
    for name, value in arguments.items():
        try:
            array = np.asarray(value)
        except RuntimeError:  # the buffer was donated
            continue
        values[name] = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    return values
