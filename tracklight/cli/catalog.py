"""The log that the flags name."""

from __future__ import annotations

from argparse import Namespace

from tracklight.cli.given import find_given
from tracklight.errors import UsageError
from tracklight.index.cache import find_folder
from tracklight.index.catalog import Catalog
from tracklight.index.sizes import parse_bytes
from tracklight.logdir.roots import parse_roots


def create_catalog(flags: Namespace) -> Catalog:
    given = find_given(flags)
    if given is None:
        raise UsageError("no log directory was given: tracklight --logdir DIR")
    roots = parse_roots(given)
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
