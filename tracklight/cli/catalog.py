"""The log that the flags name."""

from __future__ import annotations

from argparse import Namespace

from tracklight.errors import UsageError
from tracklight.index.catalog import Catalog
from tracklight.index.sizes import parse_bytes
from tracklight.logdir.roots import Root, parse_roots


def create_catalog(flags: Namespace) -> Catalog:
    return Catalog(
        _parse_logdir(flags),
        include=flags.include,
        exclude=flags.exclude,
        cache=flags.cache,
        cache_bytes=parse_bytes(flags.cache_size),
        memory_bytes=parse_bytes(flags.memory),
    )


def _parse_logdir(flags: Namespace) -> tuple[Root, ...]:
    given = [spec for spec in (flags.logdir, flags.logdir_spec) if spec is not None]
    if len(given) + bool(flags.directories) > 1:
        raise UsageError("give the log directory once: --logdir, --logdir_spec or as an argument")
    if not given and not flags.directories:
        raise UsageError("no log directory was given: tracklight --logdir DIR")
    return parse_roots(given[0] if given else flags.directories)
