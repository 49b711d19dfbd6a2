"""The log that the flags name."""

from __future__ import annotations

import os
from argparse import Namespace

from tracklight.cli.given import find_given
from tracklight.errors import UsageError
from tracklight.index.cache import find_folder
from tracklight.index.catalog import Catalog
from tracklight.index.sizes import parse_bytes
from tracklight.logdir.roots import is_url, parse_roots


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


def find_missing(catalog: Catalog) -> list[str]:
    """The log directories of this machine that are not there."""
    paths = (root.path for root in catalog.roots)
    return [path for path in paths if not is_url(path) and not os.path.exists(path)]
