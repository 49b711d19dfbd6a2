"""Write a dump with problems other than NaN: ``python debug_kinds_program.py FOLDER``."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf


def main() -> None:
    tf.debugging.experimental.enable_dump_debug_info(
        sys.argv[1], tensor_debug_mode="FULL_TENSOR", circular_buffer_size=-1
    )

    @tf.function
    def scale(x: Any, factor: int) -> Any:
        return x * factor

    for factor in range(7):  # every Python number is traced again
        scale(tf.ones([3]), factor)

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def sum_rows(x: Any) -> Any:
        return tf.reduce_sum(x * 2.0, axis=1)

    for columns in (3, 5):
        sum_rows(tf.ones([2, columns]))

    @tf.function
    def activate(x: Any) -> Any:
        return tf.nn.relu(x - 50.0)

    for _ in range(4):
        activate(tf.ones([16, 4]))
    tf.debugging.experimental.disable_dump_debug_info()
    print(json.dumps("done"))


if __name__ == "__main__":
    main()
