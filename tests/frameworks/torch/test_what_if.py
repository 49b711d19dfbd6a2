"""What-If runs models of PyTorch as objects and as files in a process of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.model_process import run_model_file
from tracklight.analysis.predictors.model_files import load_model_file
from tracklight.analysis.predictors.python_models import wrap_model
from tracklight.analysis.tables.objects import to_table
from tracklight.errors import ModelError

torch: Any = pytest.importorskip("torch")

pytestmark = pytest.mark.slow

ROWS = np.random.default_rng(0).normal(size=(9, 4))


def test_torch_module_stays_in_training_mode() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Dropout(0.5))
    result = wrap_model(model, output="logits").predict(to_table(ROWS))
    with torch.inference_mode():
        expected = model.eval()(torch.as_tensor(ROWS, dtype=torch.float32)).softmax(1).numpy()
    assert np.allclose(result.scores, expected, atol=1e-6)
    model.train()
    wrap_model(model, output="logits").predict(to_table(ROWS))
    assert model.training


@pytest.mark.parametrize("is_fixed", [False, True])
def test_exported_program(tmp_path: Path, is_fixed: bool) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Softmax(1)).eval()
    # Without dynamic shapes, a program takes as many rows as its example.
    shapes = None if is_fixed else ({0: torch.export.Dim("rows")},)
    program = torch.export.export(module, (torch.zeros(2, 4),), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "m.pt2")
    with torch.inference_mode():
        expected = module(torch.tensor(ROWS, dtype=torch.float32)).numpy()
    with run_model_file(tmp_path / "m.pt2") as predictor:
        assert np.allclose(predictor.predict(to_table(ROWS)).scores, expected, atol=1e-5)


def test_pickled_modules_are_refused(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 1), tmp_path / "m.pt")
    with pytest.raises(ModelError, match="cannot load"):
        load_model_file(tmp_path / "m.pt")
