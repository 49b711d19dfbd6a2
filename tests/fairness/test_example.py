"""The example program runs and logs one result per epoch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import tracklight

EXAMPLE = Path(__file__).parents[2] / "examples" / "fairness_loop.py"


def test_example_logs_every_epoch(tmp_path, monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("fairness_loop", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROWS", 3000)
    monkeypatch.setattr(module, "EPOCHS", 2)
    module.main(str(tmp_path / "run"))
    text = capsys.readouterr().out
    assert "epoch 1: recall at 0.5" in text
    assert "## Performance by group" in text
    with tracklight.open(tmp_path) as log:
        assert log.tensors("run", "fairness").step.tolist() == [0, 1]
