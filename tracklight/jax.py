"""Log pytrees of arrays, as used by JAX, Flax and Optax, to the default writer.

    with tracklight.summary.create_file_writer("logs/run1").as_default():
        tracklight.jax.scalars({"train": {"loss": loss, "accuracy": accuracy}}, step)
        tracklight.jax.histograms(params, step, prefix="params")

The tag of a leaf is its path in the tree, such as ``train/loss``. Trees are dicts, lists,
dataclasses and all other types registered with JAX; without JAX, dicts, lists and tuples.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tracklight import summary
from tracklight.writer.event_writer import find_active_writer

__all__ = ["flatten", "histograms", "scalars"]


def scalars(tree: Any, step: int | None = None, prefix: str = "") -> bool:
    """Log the leaves of a tree as scalars.

    Args:
        tree: A pytree of numbers.
        step: Step of the values; by default the default step.
        prefix: Prefix of the tags.

    Returns:
        Whether all values were accepted; False if there is no default writer.

    Example:
        >>> with writer.as_default():
        ...     tracklight.jax.scalars({"train": {"loss": 0.5}}, step=1)
        True
    """
    return _log(summary.scalar, tree, step, prefix)


def histograms(tree: Any, step: int | None = None, prefix: str = "") -> bool:
    """Log the leaves of a tree as histograms.

    Args:
        tree: A pytree of arrays.
        step: Step of the values; by default the default step.
        prefix: Prefix of the tags.

    Returns:
        Whether all values were accepted; False if there is no default writer.

    Example:
        >>> with writer.as_default():
        ...     tracklight.jax.histograms(params, step=1, prefix="params")
        True
    """
    return _log(summary.histogram, tree, step, prefix)


def flatten(tree: Any, prefix: str = "") -> dict[str, Any]:
    """Return the leaves of a tree by tag. None is not a leaf.

    Args:
        tree: A pytree.
        prefix: Prefix of the tags.

    Example:
        >>> tracklight.jax.flatten({"train": {"loss": 0.5}}, prefix="run")
        {'run/train/loss': 0.5}
    """
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
        # All at once, so that there is one transfer from the device and not one per leaf.
        leaves = jax.device_get(leaves)
    return all([log(tag, leaf, step=step) for tag, leaf in leaves.items()])


def _iter_jax_leaves(jax: Any, tree: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
        # Variables of Flax NNX are trees with a single leaf, "value".
        is_variable = len(path) > 1 and getattr(path[-1], "name", "") == "value"
        yield tuple(map(_format_key, path[:-1] if is_variable else path)), leaf


def _format_key(key: Any) -> str:
    """Return a dict key, list index or field name as a string."""
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
