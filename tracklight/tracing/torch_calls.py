"""Watches which modules of PyTorch are called."""

from __future__ import annotations

import sys
from typing import Any


class TorchWatch:
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
        from tracklight.torch.graphs import read_graph

        for hook in self._hooks:
            hook.remove()
        return [
            read_graph(module, arguments, is_verbose=False, is_strict=False).SerializeToString()
            for module, arguments in self._calls.values()
        ]

    def _enter(self, module: Any, arguments: tuple[Any, ...]) -> None:
        if self._depth == 0:
            self._calls.setdefault(id(module), (module, arguments))
        self._depth += 1

    def _leave(self, module: Any, arguments: Any, output: Any) -> None:
        self._depth = max(0, self._depth - 1)
