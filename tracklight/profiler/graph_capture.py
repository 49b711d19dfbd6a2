"""Capture the graphs of the functions and modules that a framework runs.

There is one `GraphCapture` for each framework. The captures for JAX and TensorFlow hook into a
function of the framework; PyTorch has public hooks.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from tracklight.writer.warnings import ArgumentError

#: The caches from which JAX dispatches calls to compiled code without running Python.
_PJIT_CACHES = ("_cpp_pjit_cache_fun_only", "_cpp_pjit_cache_explicit_attributes")
_PJIT_FUNCTION = "_run_python_pjit"

#: Returns the replacement for a function, given the function and the list of listeners.
Wrap: TypeAlias = Callable[[Callable[..., Any], "list[Any]"], Callable[..., Any]]


class GraphCapture(Protocol):
    """Collects the graphs of what a framework runs."""

    def start(self) -> None: ...

    def stop(self) -> list[bytes]:
        """Stop and return a serialized GraphDef for each function or module that was called."""


class FunctionHook:
    """Replace a function of a framework while there are listeners.

    Listeners share one replacement. If each installed its own, the order of removal would decide
    which function is left in the end.

    Args:
        wrap: Returns the replacement.
    """

    def __init__(self, wrap: Wrap) -> None:
        self._wrap = wrap
        self._listeners: list[Any] = []
        self._lock = threading.Lock()

    def add(self, owner: Any, name: str, listener: object) -> None:
        with self._lock:
            if not self._listeners:
                self._original = owner, name, getattr(owner, name)
                setattr(owner, name, self._wrap(self._original[2], self._listeners))
            self._listeners.append(listener)

    def remove(self, listener: object) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)
                if not self._listeners:
                    setattr(*self._original)


class JaxGraphCapture:
    """Collect the jaxprs of all jitted functions of the user that are called.

    JAX has no public API for this. The hook sees calls that are not served by JAX's C++ dispatch
    caches, which are therefore cleared. Nothing is recompiled.
    """

    def __init__(self) -> None:
        self._jaxprs: dict[int, tuple[str, Any]] = {}

    def start(self) -> None:
        pjit = sys.modules.get("jax._src.pjit")
        if not hasattr(pjit, _PJIT_FUNCTION):
            version = getattr(sys.modules["jax"], "__version__", "")
            raise ArgumentError("graph", f"cannot be captured from JAX {version}: not supported")
        _pjit_hook.add(pjit, _PJIT_FUNCTION, self)
        for cache in _PJIT_CACHES:
            if hasattr(pjit, cache):
                getattr(pjit, cache).clear()

    def stop(self) -> list[bytes]:
        from tracklight.profiler.jaxpr_graph import build_jaxpr_graph

        _pjit_hook.remove(self)
        jaxprs = self._jaxprs.values()
        return [build_jaxpr_graph(jaxpr, name).SerializeToString() for name, jaxpr in jaxprs]

    def record_call(self, equation: Any, function: Any) -> None:
        module = getattr(function, "__module__", None) or ""
        # JAX itself contains many small jitted functions.
        if module.partition(".")[0] not in ("jax", "jaxlib"):
            jaxpr = equation.params["jaxpr"]
            self._jaxprs[id(jaxpr)] = str(equation.params.get("name", "function")), jaxpr


def _wrap_pjit(run: Callable[..., Any], captures: list[Any]) -> Callable[..., Any]:
    def run_and_record(equation: Any, arguments: Any, function: Any, *rest: Any) -> Any:
        for capture in captures:
            capture.record_call(equation, function)
        return run(equation, arguments, function, *rest)

    return run_and_record


_pjit_hook = FunctionHook(_wrap_pjit)


class TensorFlowGraphCapture:
    """Collect the graph of each ``tf.function`` that the program calls directly.

    TensorFlow's own trace misses functions that were called before and functions compiled by XLA,
    such as the training step of a Keras model, and it has no shapes.
    """

    def __init__(self) -> None:
        self._graphs: dict[int, Any] = {}

    def start(self) -> None:
        function_class = type(sys.modules["tensorflow"].function(lambda: None))
        _tf_function_hook.add(function_class, "__call__", self)

    def stop(self) -> list[bytes]:
        _tf_function_hook.remove(self)
        graphs = self._graphs.values()
        return [graph.as_graph_def(add_shapes=True).SerializeToString() for graph in graphs]

    def record_call(self, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if id(function) not in self._graphs:
            # The call has just traced the function for these arguments; this does not trace again.
            concrete = function.get_concrete_function(*arguments, **named)
            self._graphs[id(function)] = concrete.graph


def _wrap_tf_function(call: Callable[..., Any], captures: list[Any]) -> Callable[..., Any]:
    current = threading.local()

    def call_and_record(function: Any, *arguments: Any, **named: Any) -> Any:
        if getattr(current, "is_calling", False):
            return call(function, *arguments, **named)
        current.is_calling = True
        try:
            result = call(function, *arguments, **named)
            for capture in captures:
                capture.record_call(function, arguments, named)
        finally:
            current.is_calling = False
        return result

    return call_and_record


_tf_function_hook = FunctionHook(_wrap_tf_function)


class TorchGraphCapture:
    """Collect each module that the program calls directly, with the arguments of its first call.

    The graphs are read from the modules when the capture stops.
    """

    def __init__(self) -> None:
        self._calls: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self._depth = 0

    def start(self) -> None:
        hooks = sys.modules["torch.nn.modules.module"]
        self._hooks = [
            hooks.register_module_forward_pre_hook(self._enter),
            hooks.register_module_forward_hook(self._leave, always_call=True),
        ]

    def stop(self) -> list[bytes]:
        from tracklight.torch.graphs import read_model_graph

        for hook in self._hooks:
            hook.remove()
        return [
            read_model_graph(module, arguments, verbose=False, strict=False).SerializeToString()
            for module, arguments in self._calls.values()
        ]

    def _enter(self, module: Any, arguments: tuple[Any, ...]) -> None:
        if self._depth == 0:
            self._calls.setdefault(id(module), (module, arguments))
        self._depth += 1

    def _leave(self, module: Any, arguments: Any, output: Any) -> None:
        self._depth = max(0, self._depth - 1)


CAPTURE_CLASSES: dict[str, Callable[[], GraphCapture]] = {
    "tensorflow": TensorFlowGraphCapture,
    "jax": JaxGraphCapture,
    "torch": TorchGraphCapture,
}


def create_graph_capture(framework: str) -> GraphCapture:
    """Return the graph capture of a framework, which must be loaded."""
    return CAPTURE_CLASSES[framework]()
