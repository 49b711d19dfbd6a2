"""Experiments: sessions with their hyperparameters and metrics, and what made the difference.

A session is one training with the hyperparameters it was given, read from HParams records, from
settings files such as ``hparams.yaml``, or from the studies of Optuna, Keras Tuner and Ray Tune.
(`tracklight.hparams` is the API that writes records.)

- `settings_files` parses settings files. `optuna_storage` and `study_files` read the studies of
  other programs, and `study_files` keeps those of a log. `sessions` finds the sessions of a log.
- `columns` turns hyperparameters and metrics into columns of a table; `session_store` keeps the
  table of a log up to date; `studies` says which sessions can be compared.
- `importance` computes how important each hyperparameter is.

Start with `session_store.SessionStore`. The package may import `formats`, `logdir`, `index` and
`tracklight.analysis.source`; nothing here knows about HTTP.
"""
