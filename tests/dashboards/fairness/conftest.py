"""Fixtures of the Fairness dashboard."""

from __future__ import annotations

from tests.analysis.media.conftest import open_log

__all__ = ["open_log"]
