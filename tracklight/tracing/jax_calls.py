"""Watches which functions JAX compiles and calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from tracklight.sdk.lenient import Misuse
from tracklight.tracing.hook import Hook

#: The fastest of JAX's caches, from which a call goes straight to compiled code.
_CACHES = ("_cpp_pjit_cache_fun_only", "_cpp_pjit_cache_explicit_attributes")
_PLACE = "_run_python_pjit"


class JaxWatch:
    """Collects the traces of all jitted functions of the user's that are called.

    JAX has no public way to ask for them. This looks in where a call goes that is not in the
    fastest of JAX's caches, which is therefore emptied; nothing is compiled anew for it.
    """

    def __init__(self) -> None:
        self._jaxprs: dict[int, tuple[str, Any]] = {}

    def start(self) -> None:
        pjit = sys.modules.get("jax._src.pjit")
        if not hasattr(pjit, _PLACE):
            version = getattr(sys.modules["jax"], "__version__", "")
            raise Misuse("graph", f"cannot be had from JAX {version}, which is not known here")
        _hook.add(pjit, _PLACE, self)
        for cache in _CACHES:
            if hasattr(pjit, cache):
                getattr(pjit, cache).clear()

    def stop(self) -> list[bytes]:
        from tracklight.tracing.jax_graphs import build_graph

        _hook.remove(self)
        jaxprs = self._jaxprs.values()
        return [build_graph(jaxpr, name).SerializeToString() for name, jaxpr in jaxprs]

    def note(self, call: Any, function: Any) -> None:
        module = getattr(function, "__module__", None) or ""
        # Much of JAX itself is made of small jitted functions.
        if module.partition(".")[0] not in ("jax", "jaxlib"):
            jaxpr = call.params["jaxpr"]
            self._jaxprs[id(jaxpr)] = str(call.params.get("name", "function")), jaxpr


def _wrap(run: Callable[..., Any], watches: list[Any]) -> Callable[..., Any]:
    def look_in(call: Any, arguments: Any, function: Any, *rest: Any) -> Any:
        for watch in watches:
            watch.note(call, function)
        return run(call, arguments, function, *rest)

    return look_in


_hook = Hook(_wrap)
