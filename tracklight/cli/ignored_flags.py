"""TensorBoard flags that tracklight accepts and ignores, or rejects with an explanation."""

from __future__ import annotations

import argparse
from typing import Any

from tracklight.errors import UsageError

_TAILED = "all event files are tailed as they grow"
_ONE_READER = "there is a single reader, which reads all files in parallel"

#: Ignored flags that take a value, with the reason.
IGNORED_WITH_VALUE = {
    "--samples-per-plugin": "all points are kept; nothing is sampled",
    "--load-fast": _ONE_READER,
    "--max-reload-threads": _ONE_READER,
    "--extra-data-server-flags": _ONE_READER,
    "--generic-data": _ONE_READER,
    "--grpc-creds-type": _ONE_READER,
    "--reload-task": _TAILED,
    "--reload-multifile": _TAILED,
    "--reload-multifile-inactive-secs": _TAILED,
    "--detect-file-replacement": "replaced files are always detected",
    "--purge-orphaned-data": "overwritten points are kept, and hidden by default",
    "--tag": "it only applies to --inspect",
    "--event-file": "it only applies to --inspect; to serve one file, use `tracklight FILE`",
    "--verbosity": "warnings and errors are always printed, and nothing else is",
    "--stderrthreshold": "warnings and errors are always printed, and nothing else is",
}
#: Ignored flags without a value, with the reason.
IGNORED_WITHOUT_VALUE = {
    "--db-import": "there is no database to import into",
    "--logtostderr": "messages already go to standard error",
    "--alsologtostderr": "messages already go to standard error",
}

#: Rejected flags, with the reason: they name a data source that cannot be read.
UNSUPPORTED = {
    "--db": "tracklight reads event files, not databases; use --logdir",
    "--grpc-data-provider": "tracklight reads event files itself; use --logdir",
}


class IgnoredFlag(argparse.Action):
    """Add a note that the flag has no effect."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        namespace.notes = [*namespace.notes, f"{option} is ignored: {self.const}"]


class UnsupportedFlag(argparse.Action):
    """Raise a UsageError that explains why the flag is not supported."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option: Any = None) -> None:
        if values:  # TensorBoard's default is an empty value
            raise UsageError(f"{option}: {self.const}")


def add_ignored_flags(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(notes=[])
    for flag, reason in IGNORED_WITH_VALUE.items():
        _add_hidden(parser, flag, reason, IgnoredFlag, "?")
    for flag, reason in IGNORED_WITHOUT_VALUE.items():
        _add_hidden(parser, flag, reason, IgnoredFlag, 0)
    for flag, reason in UNSUPPORTED.items():
        _add_hidden(parser, flag, reason, UnsupportedFlag, "?")


def _add_hidden(
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
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
        dest="ignored",
    )
