"""``python -m tracklight.main``, for scripts that say ``python -m tensorboard.main``."""

from __future__ import annotations

import sys

from tracklight.cli import main

if __name__ == "__main__":
    sys.exit(main())
