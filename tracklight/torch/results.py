"""Lets a model give plain tensors while its graph is read.

Neither torch.export nor a trace takes results of a class that they do not know, such as the cache
that language models of ``transformers`` give along with their logits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_DEEPEST = 10


@contextmanager
def plain_results(model: Any) -> Iterator[None]:
    """While this is open, the model gives a tuple of tensors where it gave anything else."""
    hook = model.register_forward_hook(lambda module, given, result: _make_plain(result))
    try:
        yield
    finally:
        hook.remove()


def _make_plain(result: Any) -> Any:
    if _is_plain(result, 0):
        return None  # a hook's way to leave the result alone
    return tuple(_iter_tensors(result, 0))


def _is_plain(result: Any, depth: int) -> bool:
    """Only tensors in plain tuples, lists and dicts."""
    if type(result) in (tuple, list, dict) and depth < _DEEPEST:
        parts = result.values() if isinstance(result, dict) else result
        return all(_is_plain(part, depth + 1) for part in parts)
    return hasattr(result, "shape")


def _iter_tensors(result: Any, depth: int) -> Iterator[Any]:
    if hasattr(result, "shape"):
        yield result
    elif isinstance(result, (Mapping, tuple, list)) and depth < _DEEPEST:
        for part in result.values() if isinstance(result, Mapping) else result:
            yield from _iter_tensors(part, depth + 1)
