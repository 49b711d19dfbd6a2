"""Dashboards are also asked through the server that the server's own tests use."""

from __future__ import annotations

from tests.server.conftest import client, source, watch

__all__ = ["client", "source", "watch"]
