"""Logs trees of arrays, such as JAX, Flax and Optax have everywhere, to the default writer.

    with tracklight.summary.create_file_writer("logs/run1").as_default():
        tracklight.jax.scalars({"train": {"loss": loss, "accuracy": accuracy}}, step)
        tracklight.jax.histograms(params, step, prefix="params")

Every leaf gets a tag, made of the names on the way to it: ``train/loss``. Dicts, lists, dataclasses
and whatever else is registered with JAX are trees; without JAX, dicts, lists and tuples are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tracklight import summary
from tracklight.writer.defaults import find_active_writer

__all__ = ["flatten", "histograms", "scalars"]


def scalars(tree: Any, step: int | None = None, prefix: str = "") -> bool:
    """Log the number at every leaf; True if all of them were accepted."""
    return _log(summary.scalar, tree, step, prefix)


def histograms(tree: Any, step: int | None = None, prefix: str = "") -> bool:
    """Log how the numbers at every leaf are spread; True if all of them were accepted."""
    return _log(summary.histogram, tree, step, prefix)


def flatten(tree: Any, prefix: str = "") -> dict[str, Any]:
    """The leaves of a tree by their tags; None is no leaf."""
    jax = sys.modules.get("jax")
    pairs = _iter_leaves(tree, ()) if jax is None else _iter_jax_leaves(jax, tree)
    start = (prefix.rstrip("/"),) if prefix else ()
    return {"/".join((*start, *names)) or "value": leaf for names, leaf in pairs}


def _log(log: Callable[..., bool], tree: Any, step: int | None, prefix: str) -> bool:
    if find_active_writer() is None:
        return False
    leaves = flatten(tree, prefix)
    jax = sys.modules.get("jax")
    if jax is not None:
        # All at once, so that a device is waited for once and not at every leaf.
        leaves = jax.device_get(leaves)
    return all([log(tag, leaf, step=step) for tag, leaf in leaves.items()])


def _iter_jax_leaves(jax: Any, tree: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        # The variables of Flax's modules are trees with a leaf that is called so.
        is_variable = len(path) > 1 and getattr(path[-1], "name", "") == "value"
        yield tuple(map(_format_key, path[:-1] if is_variable else path)), leaf


def _format_key(key: Any) -> str:
    """The key of a dict, the index into a list or the name of a field."""
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def _iter_leaves(tree: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(tree, Mapping):
        items: Any = tree.items()
    elif isinstance(tree, (list, tuple)):
        fields = getattr(tree, "_fields", range(len(tree)))
        items = zip(fields, tree, strict=True)
    else:
        if tree is not None:
            yield names, tree
        return
    for key, branch in items:
        yield from _iter_leaves(branch, (*names, str(key)))
