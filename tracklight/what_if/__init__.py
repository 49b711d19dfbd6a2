"""What-If analysis: probe a model, edit rows, and see what changes.

    session = tracklight.what_if.Session(frame, model=classifier, label="income")
    session.counterfactuals(12).to_pandas()

    tracklight.what_if(frame, model=classifier, label="income")    # the page, in a notebook

`Session` is the Python API, `read_table` reads data files, and the predictor classes connect
models behind servers. ``docs/what-if.md`` describes all of it. The computations are in
`tracklight.analysis.what_if`; this package turns their results into tables.
"""

from __future__ import annotations

import glob
import os
import sys
import types as python_types
from collections.abc import Mapping
from typing import Any

from tracklight.analysis.predictors import ColumnPredictor, Predictions, Predictor
from tracklight.analysis.predictors.model_files import ModelFilePredictor
from tracklight.analysis.predictors.model_files import load_model_file as load_model
from tracklight.analysis.predictors.server_models import (
    JsonEndpointPredictor,
    KservePredictor,
    ServingGrpcPredictor,
    ServingRestPredictor,
)
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.files import ReadLimits, read_files
from tracklight.errors import LogError
from tracklight.what_if.performance_analysis import ThresholdTable
from tracklight.what_if.session import Session
from tracklight.what_if.witwidget import WitConfigBuilder, WitWidget

__all__ = [
    "ColumnPredictor",
    "DataTable",
    "JsonEndpointPredictor",
    "KservePredictor",
    "ModelFilePredictor",
    "Predictions",
    "Predictor",
    "ServingGrpcPredictor",
    "ServingRestPredictor",
    "Session",
    "ThresholdTable",
    "WitConfigBuilder",
    "WitWidget",
    "load_model",
    "read_table",
]


def read_table(
    path: str | os.PathLike[str],
    *,
    max_rows: int = 1_000_000,
    sampling_ratio: float = 1.0,
    seed: int = 0,
    types: Mapping[str, str] | None = None,
) -> DataTable:
    """Read a data file: TFRecord, CSV, JSON lines or Parquet.

    Args:
        path: The file; ``*`` matches several files with the same columns.
        max_rows: Read at most this many rows.
        sampling_ratio: Read each row with this probability.
        seed: Seed of the sampling.
        types: The types of columns by name, instead of the inferred ones: ``"integer"``,
            ``"float"``, ``"boolean"``, ``"string"``, ``"image"`` or ``"bytes"``; with ``[]`` for
            texts that are lists, such as ``red|green``.

    Returns:
        A table for `Session`. Its ``problems`` say what could not be read.

    Raises:
        LogError: The file does not exist or cannot be read.
        FormatError: The file does not have the format of its suffix.
        UsageError: A limit or a type is invalid.

    Example:
        >>> session = Session(read_table("census-*.tfrecord"), model=predict, label="income")
    """
    text = os.path.expanduser(os.fspath(path))
    paths = sorted(glob.glob(text)) if glob.has_magic(text) and not os.path.exists(text) else [text]
    if not paths:
        raise LogError(f'no file matches "{text}"')
    limits = ReadLimits(max_rows, sampling_ratio, seed=seed)
    return read_files(paths, lambda name: open(name, "rb"), limits, types)


class _CallableModule(python_types.ModuleType):
    """A module that can be called: ``tracklight.what_if(data, model=...)`` shows the page."""

    def __call__(
        self,
        data: Any,
        model: Any = None,
        label: str | None = None,
        *,
        height: int = 1000,
        **options: Any,
    ) -> Session:
        import tracklight

        session = Session(data, model, label, **options)
        tracklight.notebook.show_session(session.workspace, height)
        return session


sys.modules[__name__].__class__ = _CallableModule
