"""A dashboard on a log of histograms, without a server around it."""

from __future__ import annotations

from tests.analysis.media.conftest import open_log

__all__ = ["open_log"]
