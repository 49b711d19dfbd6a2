"""The tags of hyperparameters, the types of their values, and the names of nested ones."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

EXPERIMENT_TAG = "_hparams_/experiment"
SESSION_START_TAG = "_hparams_/session_start_info"
SESSION_END_TAG = "_hparams_/session_end_info"

HParamValue = bool | int | float | str

#: Between the names of nested hyperparameters, as Lightning writes them: ``optimizer/lr``.
NAME_SEPARATOR = "/"

_MAX_DEPTH = 20


def iter_flat(values: Mapping[Any, Any], depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the values of nested mappings and namespaces, under names such as ``optimizer/lr``.

    What is nested more than 20 levels deep is left out.
    """
    for key, value in values.items():
        if isinstance(value, Namespace):
            value = vars(value)
        if not isinstance(value, Mapping):
            yield str(key), value
        elif depth < _MAX_DEPTH:
            for name, leaf in iter_flat(value, depth + 1):
                yield f"{key}{NAME_SEPARATOR}{name}", leaf
