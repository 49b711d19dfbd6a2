"""Looks in on the calls of a function of a framework."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from tracklight.writer.warnings import ArgumentError

#: Makes what stands in for a function: of the function itself, and of who is to be told of calls.
Wrap: TypeAlias = Callable[[Callable[..., Any], "list[Any]"], Callable[..., Any]]


class FunctionHook:
    """Puts a function in the place of another, once for all who listen, while there are any.

    Two that each put back what they found would leave the other's behind.
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


# Watches which functions JAX compiles and calls.

#: The fastest of JAX's caches, from which a call goes straight to compiled code.
_PJIT_CACHES = ("_cpp_pjit_cache_fun_only", "_cpp_pjit_cache_explicit_attributes")

_PJIT_FUNCTION = "_run_python_pjit"


class JaxGraphCapture:
    """Collects the traces of all jitted functions of the user's that are called.

    JAX has no public way to ask for them. This looks in where a call goes that is not in the
    fastest of JAX's caches, which is therefore emptied; nothing is compiled anew for it.
    """

    def __init__(self) -> None:
        self._jaxprs: dict[int, tuple[str, Any]] = {}

    def start(self) -> None:
        pjit = sys.modules.get("jax._src.pjit")
        if not hasattr(pjit, _PJIT_FUNCTION):
            version = getattr(sys.modules["jax"], "__version__", "")
            raise ArgumentError(
                "graph", f"cannot be had from JAX {version}, which is not known here"
            )
        _pjit_hook.add(pjit, _PJIT_FUNCTION, self)
        for cache in _PJIT_CACHES:
            if hasattr(pjit, cache):
                getattr(pjit, cache).clear()

    def stop(self) -> list[bytes]:
        from tracklight.profiler.jaxpr_graph import build_jaxpr_graph

        _pjit_hook.remove(self)
        jaxprs = self._jaxprs.values()
        return [build_jaxpr_graph(jaxpr, name).SerializeToString() for name, jaxpr in jaxprs]

    def note(self, call: Any, function: Any) -> None:
        module = getattr(function, "__module__", None) or ""
        # Much of JAX itself is made of small jitted functions.
        if module.partition(".")[0] not in ("jax", "jaxlib"):
            jaxpr = call.params["jaxpr"]
            self._jaxprs[id(jaxpr)] = str(call.params.get("name", "function")), jaxpr


def _wrap_pjit(run: Callable[..., Any], watches: list[Any]) -> Callable[..., Any]:
    def look_in(call: Any, arguments: Any, function: Any, *rest: Any) -> Any:
        for watch in watches:
            watch.note(call, function)
        return run(call, arguments, function, *rest)

    return look_in


_pjit_hook = FunctionHook(_wrap_pjit)


# Watches which functions TensorFlow runs.


class TensorFlowGraphCapture:
    """Keeps the graph of each ``tf.function`` that is called, but not of those that it calls.

    TensorFlow's own collection only has functions that were never called before and that are not
    compiled by XLA, which leaves out the step of a Keras model; and it has no shapes.
    """

    def __init__(self) -> None:
        self._graphs: dict[int, Any] = {}

    def start(self) -> None:
        kind = type(sys.modules["tensorflow"].function(lambda: None))
        _tf_function_hook.add(kind, "__call__", self)

    def stop(self) -> list[bytes]:
        _tf_function_hook.remove(self)
        graphs = self._graphs.values()
        return [graph.as_graph_def(add_shapes=True).SerializeToString() for graph in graphs]

    def note(self, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if id(function) not in self._graphs:
            # It was traced for these arguments a moment ago, and is not traced again.
            concrete = function.get_concrete_function(*arguments, **named)
            self._graphs[id(function)] = concrete.graph


def _wrap_tf_function(call: Callable[..., Any], watches: list[Any]) -> Callable[..., Any]:
    inside = threading.local()

    def look_in(function: Any, *arguments: Any, **named: Any) -> Any:
        if getattr(inside, "a_call", False):
            return call(function, *arguments, **named)
        inside.a_call = True
        try:
            result = call(function, *arguments, **named)
            for watch in watches:
                watch.note(function, arguments, named)
        finally:
            inside.a_call = False
        return result

    return look_in


_tf_function_hook = FunctionHook(_wrap_tf_function)


# Watches which modules of PyTorch are called.


class TorchGraphCapture:
    """Keeps each module that is called, but not those that it calls itself, with its arguments."""

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


class GraphCapture(Protocol):
    """Collects the graphs of what a framework runs."""

    def start(self) -> None: ...

    def stop(self) -> list[bytes]:
        """End, and return a GraphDef for each function or module that was called."""


CAPTURE_CLASSES: dict[str, Callable[[], GraphCapture]] = {
    "tensorflow": TensorFlowGraphCapture,
    "jax": JaxGraphCapture,
    "torch": TorchGraphCapture,
}


def create_graph_capture(framework: str) -> GraphCapture:
    """What watches a framework, which must be loaded."""
    return CAPTURE_CLASSES[framework]()
