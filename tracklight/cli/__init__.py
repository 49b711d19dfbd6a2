"""The command ``tracklight``: arguments in, words out."""

from __future__ import annotations

from tracklight.cli.main import main

__all__ = ["main"]
