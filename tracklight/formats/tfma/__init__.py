"""Results of TensorFlow Model Analysis (TFMA): metrics, plots, attributions and validations.

An evaluation is a folder with ``eval_config.json`` and the files ``metrics``, ``plots``,
``attributions`` and ``validations``, each TFRecord or Parquet, whole or in shards
(``metrics-00000-of-00004.tfrecord``). Records are protobuf messages, one for each slice.

`files` recognizes and reads the files, `messages` decodes the records. Neither needs TensorFlow.
"""
