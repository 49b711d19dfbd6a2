"""Write a dump of TensorFlow's debugger: ``python debug_dump_program.py FOLDER MODE BUFFER``.

With a fourth argument, also writes to that file what TensorFlow's own reader finds in the dump.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

_FULL_TENSOR = 7


def run_program() -> None:
    """Train with a loop, a branch and a nested function until values become NaN."""

    @tf.function
    def take_log(x: Any) -> Any:
        return tf.math.log(x)

    @tf.function
    def loss(x: Any, repeats: Any) -> Any:
        i = tf.constant(0)
        while i < repeats:
            x = take_log(x - 1.0) * 2.0
            i += 1
        if tf.reduce_sum(x) > 0:
            x = x + 1.0
        return tf.reduce_mean(x)

    weights = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    for _ in range(3):
        with tf.GradientTape() as tape:
            value = loss(weights * weights, tf.constant(2))
        gradient = tape.gradient(value, weights)
        weights.assign_sub(0.1 * gradient)
    _ = tf.cast(weights, tf.float16) / tf.zeros([2, 2], tf.float16)
    _ = tf.strings.join(["a", "b"])
    _ = tf.constant([1, 2, 3]) + 1
    _ = tf.cast(weights, tf.bfloat16) * 2
    _ = tf.cast(weights, tf.float64) / 0.0
    _ = tf.zeros([1, 2, 1, 3, 1, 2, 1, 1]) + 1.0


def describe(folder: str) -> dict[str, Any]:
    """Return what TensorFlow's reader finds in a dump."""
    from tensorflow.python.debug.lib import debug_events_monitors, debug_events_reader

    with debug_events_reader.DebugDataReader(folder) as reader:
        # Registering the monitor with the reader makes update() hang in mode FULL_TENSOR.
        monitor = debug_events_monitors.InfNanMonitor.__new__(debug_events_monitors.InfNanMonitor)
        monitor._debug_data_reader, monitor._limit, monitor._alerts = reader, 0, []
        reader.update()
        executions = reader.executions()
        traces = reader.graph_execution_traces()
        for index, trace in enumerate(traces):
            monitor.on_graph_execution_trace(index, trace)
        for index, execution in enumerate(executions):
            if execution.tensor_debug_mode != _FULL_TENSOR or _has_values(reader, execution):
                monitor.on_execution(index, execution)
        return {
            "version": reader.tensorflow_version(),
            "run_id": reader.tfdbg_run_id(),
            "start": reader.starting_wall_time(),
            "source_files": [list(it) for it in reader.source_file_list()],
            "graphs": sorted(reader._graph_by_id),
            "executions": [
                {
                    "wall_time": it.wall_time,
                    "op_type": it.op_type,
                    "graph": it.graph_id,
                    "mode": it.tensor_debug_mode,
                    "inputs": list(it.input_tensor_ids or ()),
                    "outputs": list(it.output_tensor_ids or ()),
                    "stack": [list(frame) for frame in reader.read_execution_stack_trace(it)[1]],
                    "values": _listed(it.debug_tensor_values),
                }
                for it in executions
            ],
            "traces": [
                {
                    "wall_time": it.wall_time,
                    "op_type": it.op_type,
                    "op_name": it.op_name,
                    "slot": it.output_slot,
                    "graphs": list(it.graph_ids or ()),
                    "mode": it.tensor_debug_mode,
                    "device": it.device_name,
                    "value": _listed(it.debug_tensor_value),
                }
                for it in traces
            ],
            "ops": {
                f"{op.graph_id} {op.op_name}": [op.op_type, list(op.input_names or ())]
                for op in reader.graph_op_digests()
            },
            "alerts": [
                {
                    "op_type": it.op_type,
                    "output_slot": it.output_slot,
                    "size": _number(it.size),
                    "nan": _number(it.num_nan),
                    "neg_inf": _number(it.num_neg_inf),
                    "pos_inf": _number(it.num_pos_inf),
                    "execution": it.execution_index,
                    "graph_execution": it.graph_execution_trace_index,
                }
                for it in monitor.alerts()
            ],
            "full": _full_values(reader, traces, executions),
        }


def _has_values(reader: Any, execution: Any) -> bool:
    """Whether the monitor can read an execution; it fails on outputs without a value."""
    return all(it is not None for it in reader.execution_to_tensor_values(execution))


def _full_values(reader: Any, traces: Any, executions: Any) -> dict[str, Any]:
    """Return the tensors of the mode FULL_TENSOR as texts."""
    if not traces or traces[0].tensor_debug_mode != _FULL_TENSOR:
        return {}
    return {
        "traces": [_text(reader.graph_execution_trace_to_tensor_value(it)) for it in traces],
        "executions": [
            [_text(value) for value in reader.execution_to_tensor_values(it)] for it in executions
        ],
    }


def _text(value: Any) -> str | None:
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "biufO":  # NumPy has no bfloat16
        array = array.astype(np.float32)
    return f"{list(array.shape)} {array.ravel().tolist()}"


def _listed(value: Any) -> Any:
    return [_listed(it) for it in value] if isinstance(value, (tuple, list)) else value


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


def main() -> None:
    folder, mode, buffer, *told = sys.argv[1:]
    tf.debugging.experimental.enable_dump_debug_info(
        folder, tensor_debug_mode=mode, circular_buffer_size=int(buffer)
    )
    run_program()
    tf.debugging.experimental.disable_dump_debug_info()
    if told:
        Path(told[0]).write_text(json.dumps(describe(folder)))


if __name__ == "__main__":
    main()
