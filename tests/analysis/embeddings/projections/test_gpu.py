from __future__ import annotations

import importlib.util
import sys

import pytest

from tracklight.analysis.embeddings.projections import gpu
from tracklight.analysis.embeddings.projections.gpu import find_gpu, list_devices


def test_a_card_is_offered_where_pytorch_and_a_driver_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert list_devices() == ["cpu"]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(gpu.sys, "platform", "linux")
    for has_driver, offered in ((True, ["cpu", "cuda"]), (False, ["cpu"])):
        monkeypatch.setattr(gpu.os.path, "exists", lambda path, there=has_driver: there)
        assert list_devices() == offered
    monkeypatch.setattr(gpu.sys, "platform", "darwin")
    monkeypatch.setattr(gpu.platform, "machine", lambda: "arm64")
    assert list_devices() == ["cpu", "mps"]


def test_without_pytorch_there_is_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert find_gpu("cuda") is None
    assert find_gpu("cpu") is None
