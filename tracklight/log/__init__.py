"""A log as Python programs read it: `open` gives a `Log`, which gives series, tables and values."""

from __future__ import annotations

from tracklight.log.log import Log, open
from tracklight.log.table import Table
from tracklight.log.values import Values

__all__ = ["Log", "Table", "Values", "open"]
