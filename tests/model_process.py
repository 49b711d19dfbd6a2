"""Model files in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tracklight.analysis.predictors.model_files import ModelFilePredictor, load_model_file


@contextmanager
def run_model_file(path: Path) -> Iterator[ModelFilePredictor]:
    """Load a model file, and check that its process ends with its input.

    The input also ends when a server is killed, which cannot stop the processes of its models.
    """
    model = load_model_file(path)
    assert isinstance(model, ModelFilePredictor)
    try:
        yield model
    except BaseException:
        model.close()
        raise
    process = model._process
    assert process is not None and process.stdin is not None and process.stdout is not None
    with process.stdout:
        process.stdin.close()
        assert process.wait(120) == 0
