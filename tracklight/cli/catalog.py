"""The log that the flags name."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from tracklight.cli.given import Given, find_given
from tracklight.errors import UsageError
from tracklight.index.cache import find_folder
from tracklight.index.catalog import Catalog
from tracklight.index.sizes import parse_bytes
from tracklight.logdir.roots import Root, parse_roots


def create_catalog(flags: Namespace, more: Mapping[str, Path] | None = None) -> Catalog:
    """The log that is named, and beside it ``more`` directories by their names."""
    roots = _find_roots(find_given(flags), more or {})
    if flags.cache_dir and find_folder((root.path for root in roots), flags.cache_dir) is None:
        raise UsageError(f'"{flags.cache_dir}" is in the log directory, where nothing is written')
    return Catalog(
        roots,
        include=flags.include,
        exclude=flags.exclude,
        cache=flags.cache_dir if flags.cache and flags.cache_dir else flags.cache,
        cache_bytes=parse_bytes(flags.cache_size),
        memory_bytes=parse_bytes(flags.memory),
    )


def _find_roots(given: Given | None, more: Mapping[str, Path]) -> tuple[Root, ...]:
    if given is None and not more:
        raise UsageError("no log directory was given: tracklight --logdir DIR")
    roots = () if given is None else parse_roots(given)
    if not more:
        return roots
    if not roots and len(more) == 1:
        return parse_roots(*more.values())
    own = [f"{root.name}:{root.path}" if root.name else Path(root.path) for root in roots]
    return parse_roots([*own, *(f"{name}:{path}" for name, path in more.items())])
