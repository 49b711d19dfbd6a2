"""Watches which functions TensorFlow runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from tracklight.tracing.hook import Hook


class TensorFlowWatch:
    """Keeps the graph of each ``tf.function`` that is called, but not of those that it calls.

    TensorFlow's own collection only has functions that were never called before and that are not
    compiled by XLA, which leaves out the step of a Keras model; and it has no shapes.
    """

    def __init__(self) -> None:
        self._graphs: dict[int, Any] = {}

    def start(self) -> None:
        kind = type(sys.modules["tensorflow"].function(lambda: None))
        _hook.add(kind, "__call__", self)

    def stop(self) -> list[bytes]:
        _hook.remove(self)
        graphs = self._graphs.values()
        return [graph.as_graph_def(add_shapes=True).SerializeToString() for graph in graphs]

    def note(self, function: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        if id(function) not in self._graphs:
            # It was traced for these arguments a moment ago, and is not traced again.
            concrete = function.get_concrete_function(*arguments, **named)
            self._graphs[id(function)] = concrete.graph


def _wrap(call: Callable[..., Any], watches: list[Any]) -> Callable[..., Any]:
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


_hook = Hook(_wrap)
