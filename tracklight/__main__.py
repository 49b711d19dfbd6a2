"""``python -m tracklight`` runs the ``tracklight`` command."""

from __future__ import annotations

import sys

from tracklight.cli import main

if __name__ == "__main__":
    sys.exit(main())
