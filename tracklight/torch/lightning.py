"""A logger for the Trainer of Lightning.

    from tracklight.torch.lightning import Logger

    trainer = lightning.Trainer(logger=Logger("logs"))

Runs are ``logs/lightning_logs/version_0`` and so on, as with the TensorBoardLogger. In a module,
``self.logger.experiment`` is a `tracklight.torch.SummaryWriter`.
"""

from __future__ import annotations

import importlib
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tracklight.formats.hparams import HParamValue, Status, iter_flattened
from tracklight.hparams.session import as_hparam_value
from tracklight.torch import SummaryWriter
from tracklight.torch.summary_values import build_experiment, build_session_end, build_session_start

__all__ = ["Logger"]


def _import_lightning() -> Any:
    """Import Lightning under the name that the program uses; the two are not compatible."""
    names = ("lightning.pytorch", "pytorch_lightning")
    loaded = [name for name in names if name in sys.modules]
    try:
        return importlib.import_module((loaded or names)[0])
    except ImportError:
        return importlib.import_module(names[1])


F = TypeVar("F", bound=Callable[..., Any])

_lightning = _import_lightning()
_loggers: Any = importlib.import_module(f"{_lightning.__name__}.loggers.logger")
_rank_zero: Any = importlib.import_module(f"{_lightning.__name__}.utilities.rank_zero")
#: Only the first of several training processes logs.
_on_rank_zero: Callable[[F], F] = _rank_zero.rank_zero_only
_on_rank_zero_or_dummy: Callable[[F], F] = _loggers.rank_zero_experiment


class Logger(_loggers.Logger):  # type: ignore[misc]
    """Log metrics, hyperparameters and, optionally, the graph of the model.

    The run is the directory ``save_dir/name/version/sub_dir``.

    Args:
        save_dir: The log directory.
        name: Name of the experiment.
        version: A number or a name; by default the next unused number.
        log_graph: Log the graph of models that have an ``example_input_array``.
        prefix: Prefix of all metric names, followed by a hyphen.
        sub_dir: Subdirectory of the version.
        **options: Further arguments of `tracklight.torch.SummaryWriter`.

    Example:
        >>> trainer = lightning.Trainer(logger=tracklight.torch.lightning.Logger("logs"))
    """

    def __init__(
        self,
        save_dir: str | os.PathLike[str] = "logs",
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        *,
        log_graph: bool = False,
        prefix: str = "",
        sub_dir: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self._save_dir = os.path.expanduser(os.fspath(save_dir))
        self._name = name or ""
        self._version = version
        self._log_graph = log_graph
        self._prefix = f"{prefix}-" if prefix else ""
        self._sub_dir = sub_dir or ""
        self._options = options
        self._experiment: SummaryWriter | None = None
        self._has_hparams = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def version(self) -> int | str:
        if self._version is None:
            self._version = _get_next_version(os.path.join(self._save_dir, self._name))
        return self._version

    @property
    def save_dir(self) -> str:
        return self._save_dir

    @property
    def root_dir(self) -> str:
        """The directory of all versions."""
        return os.path.join(self._save_dir, self._name)

    @property
    def log_dir(self) -> str:
        """The directory of this run, where Lightning saves checkpoints as well."""
        version = self.version
        directory = version if isinstance(version, str) else f"version_{version}"
        # An empty last part would leave a trailing slash.
        return os.path.join(self.root_dir, directory, self._sub_dir).rstrip("/")

    @property
    @_on_rank_zero_or_dummy
    def experiment(self) -> SummaryWriter:
        """The writer, for values that a module logs itself."""
        if self._experiment is None:
            self._experiment = SummaryWriter(self.log_dir, **self._options)
        return self._experiment

    @_on_rank_zero
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        for name, value in metrics.items():
            if isinstance(value, Mapping):
                self.experiment.add_scalars(self._prefix + name, value, step)
            else:
                self.experiment.add_scalar(self._prefix + name, value, step)

    @_on_rank_zero
    def log_hyperparams(
        self,
        params: Mapping[str, Any] | Namespace,
        metrics: Mapping[str, Any] | None = None,
        step: int | None = None,
    ) -> None:
        """Log hyperparameters.

        Args:
            params: Hyperparameters by name; nested ones get names such as ``optimizer/lr``.
            metrics: Metrics by which runs are compared, with their initial values.
            step: Step of the metrics.
        """
        with self.experiment._catch_errors("log_hyperparams", ""):
            values = flatten_hparams(vars(params) if isinstance(params, Namespace) else params)
            writer = self.experiment._get_file_writer()
            writer.add_values([build_experiment(values, list(metrics or {}), {})])
            writer.add_values([build_session_start(values)])
            self._has_hparams = True
        self.log_metrics(metrics or {}, step)

    @_on_rank_zero
    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Log the graph of a model, if the logger was created with ``log_graph``.

        Args:
            model: The module.
            input_array: Its input; by default the module's ``example_input_array``.
        """
        example = model.example_input_array if input_array is None else input_array
        if not self._log_graph or example is None:
            return
        example = model._on_before_batch_transfer(example)
        self.experiment.add_graph(model, model._apply_batch_transfer_handler(example))

    @_on_rank_zero
    def save(self) -> None:
        self.experiment.flush()

    @_on_rank_zero
    def finalize(self, status: str) -> None:
        if self._experiment is None:
            return
        if self._has_hparams:
            end = Status.SUCCESS if status == "success" else Status.FAILURE
            self._experiment._get_file_writer().add_values([build_session_end(end)])
            self._has_hparams = False
        self._experiment.close()


def flatten_hparams(params: Mapping[str, Any]) -> dict[str, HParamValue]:
    """Return nested hyperparameters under names such as ``optimizer/lr``."""
    flat: dict[str, HParamValue] = {}
    for name, value in iter_flattened(params):
        is_text = isinstance(value, (list, tuple)) or value is None
        flat[name] = str(value) if is_text else as_hparam_value(name, value)
    return flat


def _get_next_version(directory: str) -> int:
    numbers = [
        int(path.name.removeprefix("version_"))
        for path in Path(directory).glob("version_*")
        if path.name.removeprefix("version_").isdigit()
    ]
    return max(numbers, default=-1) + 1
