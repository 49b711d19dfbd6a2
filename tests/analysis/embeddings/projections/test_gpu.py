from __future__ import annotations

import importlib.util
import sys

import pytest

from tracklight.analysis.embeddings.projections import gpu
from tracklight.analysis.embeddings.projections.gpu import find_gpu, list_devices


def test_gpu_is_listed_if_pytorch_and_a_driver_are_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert list_devices() == ["cpu"]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(gpu.sys, "platform", "linux")
    for has_driver, devices in ((True, ["cpu", "cuda"]), (False, ["cpu"])):
        monkeypatch.setattr(gpu.os.path, "exists", lambda path, exists=has_driver: exists)
        assert list_devices() == devices
    monkeypatch.setattr(gpu.sys, "platform", "darwin")
    monkeypatch.setattr(gpu.platform, "machine", lambda: "arm64")
    assert list_devices() == ["cpu", "mps"]


def test_find_gpu_returns_none_without_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert find_gpu("cuda") is None
    assert find_gpu("cpu") is None
