"""Under which tags hyperparameters are found and what they can be, all that a list needs."""

from __future__ import annotations

EXPERIMENT_TAG = "_hparams_/experiment"
SESSION_START_TAG = "_hparams_/session_start_info"
SESSION_END_TAG = "_hparams_/session_end_info"

HParamValue = bool | int | float | str
