"""Print the signatures of ``tf.summary``."""

from __future__ import annotations

import json

import tensorflow as tf

from tests.tf_summary_signatures import format_parameters, iter_functions

if __name__ == "__main__":
    print(json.dumps({name: format_parameters(it) for name, it in iter_functions(tf.summary)}))
