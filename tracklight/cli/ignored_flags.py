"""Flags of TensorBoard that scripts still give, and why tracklight needs none of them."""

from __future__ import annotations

import argparse
from typing import Any

from tracklight.errors import UsageError

_HIDDEN = argparse.SUPPRESS

_FOLLOWS = "every file is followed as it grows"
_READS = "all files are read at once, by one reader"

#: They take a value, as they do in TensorBoard.
IGNORED_WITH_VALUE = {
    "--samples-per-plugin": "every point is kept and none is sampled away",
    "--load-fast": _READS,
    "--max-reload-threads": _READS,
    "--extra-data-server-flags": _READS,
    "--generic-data": _READS,
    "--grpc-creds-type": _READS,
    "--reload-task": _FOLLOWS,
    "--reload-multifile": _FOLLOWS,
    "--reload-multifile-inactive-secs": _FOLLOWS,
    "--detect-file-replacement": "replaced files are always noticed",
    "--purge-orphaned-data": "overwritten points are kept and marked, and hidden unless asked for",
    "--tag": "it says what --inspect is to tell",
    "--event-file": "it says what --inspect is to tell; a board of one file is `tracklight FILE`",
    "--verbosity": "what goes wrong is always told, and nothing else is",
    "--stderrthreshold": "what goes wrong is always told, and nothing else is",
}
IGNORED_WITHOUT_VALUE = {
    "--db-import": "there is no database to import into",
    "--logtostderr": "notes already go to the standard error",
    "--alsologtostderr": "notes already go to the standard error",
}

#: What they ask for cannot be passed over, as the log would come from there.
UNSUPPORTED = {
    "--db": "tracklight reads event files and no database: give --logdir",
    "--grpc-data-provider": "tracklight reads event files itself: give --logdir",
}


class IgnoredFlag(argparse.Action):
    """Remembers that a flag was given, and forgets its value."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.notes = [*namespace.notes, f"{option} is not needed: {self.const}"]


class UnsupportedFlag(argparse.Action):
    """Says why nothing can be done with a flag."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        if values:  # an empty one is TensorBoard's default
            raise UsageError(f"{option}: {self.const}")


def add_ignored_flags(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(notes=[])
    for flag, reason in IGNORED_WITH_VALUE.items():
        _add(parser, flag, reason, IgnoredFlag, "?")
    for flag, reason in IGNORED_WITHOUT_VALUE.items():
        _add(parser, flag, reason, IgnoredFlag, 0)
    for flag, reason in UNSUPPORTED.items():
        _add(parser, flag, reason, UnsupportedFlag, "?")


def _add(
    parser: argparse.ArgumentParser,
    flag: str,
    reason: str,
    action: type[argparse.Action],
    nargs: str | int,
) -> None:
    parser.add_argument(
        flag,
        action=action,
        nargs=nargs,
        const=reason,
        default=_HIDDEN,
        help=_HIDDEN,
        dest="unneeded",
    )
