"""The exit statuses, which scripts may rely on; docs/cli.md tells them."""

from __future__ import annotations

FAILED = 1
MAKES_NO_SENSE = 2
CANNOT_LISTEN = 3
UNWELL = 4
INTERRUPTED = 130
