"""What layouts can be computed on: the processor, and a graphics card by way of PyTorch."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from typing import Literal

Device = Literal["cpu", "cuda", "mps"]


def list_devices() -> list[Device]:
    """The processor, and a card that seems to be there; PyTorch is not loaded to find out."""
    if importlib.util.find_spec("torch") is None:
        return ["cpu"]
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return ["cpu", "mps"]
    has_driver = os.path.exists("/proc/driver/nvidia/version") or os.name == "nt"
    return ["cpu", "cuda"] if has_driver else ["cpu"]
