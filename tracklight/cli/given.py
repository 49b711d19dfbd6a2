"""What the flags name as the log; light, as every command line is asked for it."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

from tracklight.errors import UsageError

Given = str | Path | list[str]


def find_given(flags: Namespace) -> Given | None:
    """The log as it was named; UsageError if it was named in several ways."""
    specs = [flags.logdir, flags.logdir_spec, flags.directories, _find_event_file(flags)]
    # An empty one is TensorBoard's default, and says nothing.
    given = [spec for spec in specs if spec]
    if len(given) > 1:
        raise UsageError("give the log directory once: --logdir, --logdir_spec or as an argument")
    return given[0] if given else None


def _find_event_file(flags: Namespace) -> Path | None:
    path: str | None = getattr(flags, "event_file", None)
    if path and not os.path.isfile(path):
        raise UsageError(f'there is no event file "{path}"')
    return Path(path) if path else None
