"""A callback for the Trainer of Hugging Face Transformers.

    from tracklight.torch.transformers import Callback

    trainer = transformers.Trainer(..., callbacks=[Callback("logs/run1")])

Tags are those of its TensorBoardCallback: ``train/loss``, ``eval/accuracy`` and so on. Pass
``report_to="none"`` to the TrainingArguments to disable other loggers.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from typing import Any

from tracklight.torch import SummaryWriter

__all__ = ["Callback"]

_base: Any = importlib.import_module("transformers").TrainerCallback


class Callback(_base):  # type: ignore[misc]
    """Log the metrics of the Trainer, its arguments and the configuration of the model.

    Args:
        log_dir: Directory of the run; by default TENSORBOARD_LOGGING_DIR, or a directory below
            ``runs`` in the output directory, named by time and host. Trials of a hyperparameter
            search log to subdirectories.
        **options: Further arguments of `tracklight.torch.SummaryWriter`.

    Attributes:
        writer: The writer during training, otherwise None.

    Example:
        >>> callback = tracklight.torch.transformers.Callback("logs/run1")
        >>> trainer = transformers.Trainer(model, arguments, callbacks=[callback])
    """

    def __init__(self, log_dir: str | os.PathLike[str] | None = None, **options: Any) -> None:
        self._log_dir = log_dir or os.environ.get("TENSORBOARD_LOGGING_DIR")
        self._options = options
        self.writer: SummaryWriter | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not state.is_world_process_zero:
            return
        writer = self._open(args, state)
        writer.add_text("args", args.to_json_string())
        config: Any = getattr(kwargs.get("model"), "config", None)
        if hasattr(config, "to_json_string"):
            writer.add_text("model_config", config.to_json_string())

    def on_log(
        self,
        args: Any,
        state: Any,
        control: Any,
        logs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if not state.is_world_process_zero:
            return
        writer = self.writer or self._open(args, state)
        for name, value in (logs or {}).items():
            tag = _make_tag(name)
            if isinstance(value, str):
                writer.add_text(tag, value, state.global_step)
            else:
                writer.add_scalar(tag, value, state.global_step)
        writer.flush()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    def _open(self, args: Any, state: Any) -> SummaryWriter:
        log_dir = os.fspath(self._log_dir or _get_default_log_dir(args))
        if getattr(state, "is_hyper_param_search", False) and state.trial_name:
            log_dir = os.path.join(log_dir, state.trial_name)
        self.writer = SummaryWriter(log_dir, **self._options)
        return self.writer


def _make_tag(name: str) -> str:
    for part in ("eval", "test"):
        if name.startswith(f"{part}_"):
            return f"{part}/{name.removeprefix(f'{part}_')}"
    return f"train/{name}"


def _get_default_log_dir(args: Any) -> str:
    # An argument of older versions.
    logging_dir = getattr(args, "logging_dir", None)
    if logging_dir:
        return str(logging_dir)
    integrations: Any = importlib.import_module("transformers.integrations.integration_utils")
    return os.path.join(str(args.output_dir), str(integrations.default_logdir()))
