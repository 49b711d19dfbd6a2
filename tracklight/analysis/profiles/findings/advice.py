"""Titles of findings, and advice on them and on the stages of tf.data pipelines."""

from __future__ import annotations

from typing import NamedTuple

from tracklight.analysis.profiles.trace import Framework
from tracklight.errors import Message


class Advice(NamedTuple):
    """What to do about a finding."""

    text: Message
    code: str = ""
    """Lines to paste; empty if there are none."""


FINDING_TITLES = {
    "input": Message("profile.finding_input", "The input is too slow"),
    "kernel launch": Message("profile.finding_kernel_launch", "Kernel launches delay the device"),
    "host": Message("profile.finding_host", "The host delays the device"),
    "small kernels": Message(
        "profile.finding_small_kernels", "Kernels are too short for their launch overhead"
    ),
    "precision": Message("profile.finding_precision", "The device computes in 32 bits"),
    "copies": Message("profile.finding_copies", "Copies delay the step"),
    "collectives": Message("profile.finding_collectives", "Devices wait for each other"),
    "compilation": Message("profile.finding_compilation", "Programs are compiled during steps"),
    "retracing": Message("profile.finding_retracing", "Functions are retraced"),
    "eager": Message("profile.finding_eager", "The step is not compiled"),
    "other": Message("profile.finding_other", "Time without recorded events"),
}

#: Title of "other" if Python code explains the time.
PYTHON_TITLE = Message("profile.finding_python", "Python code delays the step")

#: Advice by finding and framework; "" is the default for other frameworks.
_ADVICE: dict[str, dict[str, Advice]] = {
    "input": {
        "tensorflow": Advice(
            Message(
                "profile.advice_input_tensorflow",
                "End the tf.data pipeline with prefetch(AUTOTUNE), pass "
                "num_parallel_calls=AUTOTUNE to map(), and cache() what does not change.",
            ),
            "dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE).cache()\n"
            "dataset = dataset.shuffle(1000).batch(32).prefetch(tf.data.AUTOTUNE)",
        ),
        "torch": Advice(
            Message(
                "profile.advice_input_torch",
                "Create the DataLoader with more num_workers, pin_memory=True and "
                "persistent_workers=True.",
            ),
            "loader = DataLoader(\n"
            "    data, batch_size=32, num_workers=8, pin_memory=True, persistent_workers=True\n"
            ")",
        ),
        "jax": Advice(
            Message(
                "profile.advice_input_jax",
                "Load the next batch in a thread while the current step runs, and move it to the "
                "device ahead of time with jax.device_put.",
            ),
            "batch = jax.device_put(next(batches))  # before waiting for the current step",
        ),
        "": Advice(
            Message(
                "profile.advice_input_any",
                "Load the next batch in another thread or process while the current step runs.",
            )
        ),
    },
    "kernel launch": {
        "tensorflow": Advice(
            Message(
                "profile.advice_kernel_launch_tensorflow",
                "Pass steps_per_execution to compile(), or jit_compile=True to fuse small ops. If "
                "a tf.data pipeline keeps the CPU busy, reserve threads for launches with "
                "TF_GPU_THREAD_MODE=gpu_private.",
            ),
            "model.compile(..., jit_compile=True, steps_per_execution=16)",
        ),
        "torch": Advice(
            Message(
                "profile.advice_kernel_launch_torch",
                "Use torch.compile, or CUDA graphs if the shapes of a step never change.",
            ),
            'model = torch.compile(model, mode="reduce-overhead")',
        ),
        "jax": Advice(
            Message("profile.advice_kernel_launch_jax", "Compile the whole step with one jax.jit."),
            "@jax.jit\ndef train_step(state, batch): ...",
        ),
        "": Advice(Message("profile.advice_kernel_launch_any", "Launch fewer and larger kernels.")),
    },
    "host": {
        "tensorflow": Advice(
            Message(
                "profile.advice_host_tensorflow",
                "Give the device more work at a time: larger batches, steps_per_execution, "
                "jit_compile=True. Move the preprocessing of examples into tf.data.",
            ),
            "model.compile(..., jit_compile=True, steps_per_execution=16)",
        ),
        "torch": Advice(
            Message(
                "profile.advice_host_torch",
                "Give the device more work at a time: larger batches, torch.compile. Do not read "
                "values of tensors (item, print, cpu) in every step.",
            ),
            "model = torch.compile(model)",
        ),
        "jax": Advice(
            Message(
                "profile.advice_host_jax",
                "Compile the whole step with one jax.jit, and do not read its results in every "
                "step: then the next step is prepared while the current one runs.",
            ),
            "if step % 100 == 0:\n    print(float(loss))  # waits for the device",
        ),
        "": Advice(
            Message(
                "profile.advice_host_any",
                "Give the device more work at a time, and wait for it less often.",
            )
        ),
    },
    "precision": {
        "tensorflow": Advice(
            Message(
                "profile.advice_precision_tensorflow",
                "Set a mixed precision policy before building the model.",
            ),
            'keras.mixed_precision.set_global_policy("mixed_bfloat16")',
        ),
        "torch": Advice(
            Message("profile.advice_precision_torch", "Run the forward pass under autocast."),
            'with torch.autocast("cuda", torch.bfloat16):\n    loss = criterion(model(x), y)',
        ),
        "jax": Advice(
            Message(
                "profile.advice_precision_jax",
                "Use jnp.bfloat16 for activations and for the weights of the step.",
            ),
            "weights = jax.tree.map(lambda w: w.astype(jnp.bfloat16), weights)",
        ),
        "": Advice(
            Message("profile.advice_precision_any", "Compute in 16 bits where the model allows it.")
        ),
    },
    "copies": {
        "tensorflow": Advice(
            Message("profile.advice_copies_tensorflow", "Prefetch to the device."),
            'dataset = dataset.apply(tf.data.experimental.prefetch_to_device("/gpu:0"))',
        ),
        "torch": Advice(
            Message(
                "profile.advice_copies_torch",
                "Copy with non_blocking=True from pinned memory, and rarely read values of tensors "
                "(item, print, cpu).",
            ),
            "x = x.to(device, non_blocking=True)  # from a DataLoader with pin_memory=True",
        ),
        "jax": Advice(
            Message(
                "profile.advice_copies_jax",
                "Call jax.device_put for the next batch before waiting for the current step.",
            )
        ),
        "": Advice(
            Message("profile.advice_copies_any", "Copy the next batch while the current step runs.")
        ),
    },
    "collectives": {
        "torch": Advice(
            Message(
                "profile.advice_collectives_torch",
                "Overlap gradient communication with the backward pass: DistributedDataParallel "
                "with larger buckets and NCCL. Or accumulate gradients over several batches.",
            ),
            "model = DistributedDataParallel(model, bucket_cap_mb=100)",
        ),
        "": Advice(
            Message(
                "profile.advice_collectives_any",
                "Communicate gradients less often, in 16 bits, or while others are computed.",
            )
        ),
    },
    "compilation": {
        "tensorflow": Advice(
            Message(
                "profile.advice_compilation_tensorflow",
                "Call a tf.function with tensors of the same shape, so that it is compiled once.",
            ),
            "dataset = dataset.batch(32, drop_remainder=True)",
        ),
        "torch": Advice(
            Message(
                "profile.advice_compilation_torch", "Keep shapes constant, or declare them dynamic."
            ),
            "model = torch.compile(model, dynamic=True)",
        ),
        "jax": Advice(
            Message(
                "profile.advice_compilation_jax",
                "Keep shapes constant, and pass changing values as arrays instead of static "
                "arguments.",
            )
        ),
        "": Advice(Message("profile.advice_compilation_any", "Compile before the first step.")),
    },
    "retracing": {
        "": Advice(
            Message(
                "profile.advice_retracing_any",
                "Call a tf.function with tensors of the same shape instead of Python numbers, and "
                "create it once, outside of loops.",
            ),
            "@tf.function(reduce_retracing=True)\ndef train_step(x, y): ...",
        )
    },
    "eager": {
        "tensorflow": Advice(
            Message(
                "profile.advice_eager_tensorflow",
                "Run the step in a tf.function, and do not compile a Keras model with "
                "run_eagerly=True.",
            ),
            "@tf.function\ndef train_step(x, y): ...",
        ),
        "": Advice(Message("profile.advice_eager_any", "Compile the whole step.")),
    },
    "other": {
        "python": Advice(
            Message(
                "profile.advice_other_python",
                "Look in the trace viewer for what the program waits for.",
            )
        ),
        "": Advice(
            Message(
                "profile.advice_other_any",
                "Check what Python does between ops: logging, printing, waiting for values.",
            )
        ),
    },
}

_ADVICE["small kernels"] = {
    **_ADVICE["kernel launch"],
    "tensorflow": Advice(
        Message("profile.advice_small_kernels_tensorflow", "Let XLA fuse them."),
        "model.compile(..., jit_compile=True)  # or tf.function(jit_compile=True)",
    ),
}


#: Advice for JAX programs whose step is a single call of a compiled function.
_ONE_PROGRAM_ADVICE: dict[str, Advice] = {
    "host": Advice(
        Message(
            "profile.advice_host_one_jit",
            "The step is one compiled function already. Do other work of the host (logging, "
            "metrics, preparing batches) in a thread or less often, and do not read results in "
            "every step.",
        ),
        "if step % 100 == 0:\n    print(float(loss))  # waits for the device",
    ),
    "kernel launch": Advice(
        Message(
            "profile.advice_launch_one_jit",
            "The step is one compiled function already. Run several steps per call with "
            "jax.lax.scan, or give the device larger batches.",
        ),
        "state, losses = jax.lax.scan(train_step, state, batches)",
    ),
}
_ONE_PROGRAM_ADVICE["small kernels"] = _ONE_PROGRAM_ADVICE["kernel launch"]


def get_advice(finding: str, framework: Framework, *, is_one_program: bool = False) -> Advice:
    """Return the advice on a finding for a framework.

    Args:
        finding: Name of the finding.
        framework: The framework that wrote the capture.
        is_one_program: Whether each step executes exactly one compiled program.
    """
    if framework == "jax" and is_one_program and finding in _ONE_PROGRAM_ADVICE:
        return _ONE_PROGRAM_ADVICE[finding]
    by_framework = _ADVICE[finding]
    return by_framework.get(framework) or by_framework[""]


# ---- stages of tf.data pipelines

PREFETCH_ADVICE = Message(
    "profile.stage_no_prefetch",
    "End the pipeline with prefetch(tf.data.AUTOTUNE) to overlap it with steps.",
)

_PARALLEL_ADVICE = Message(
    "profile.stage_parallel",
    "It already runs in parallel: do less in it, run it on batches instead of single examples, or "
    "cache() its output.",
)
_ADVICE_BY_PREFIX: tuple[tuple[str, Message], ...] = (
    ("MapAndBatch", _PARALLEL_ADVICE),
    ("ParallelMap", _PARALLEL_ADVICE),
    (
        "ParallelInterleave",
        Message(
            "profile.stage_parallel_interleave",
            "Read more files at once with a larger cycle_length.",
        ),
    ),
    (
        "Map",
        Message(
            "profile.stage_map",
            "Pass num_parallel_calls=tf.data.AUTOTUNE to map(), and cache() what does not change.",
        ),
    ),
    (
        "Interleave",
        Message(
            "profile.stage_interleave",
            "Pass num_parallel_calls=tf.data.AUTOTUNE to interleave().",
        ),
    ),
    (
        "FlatMap",
        Message(
            "profile.stage_flat_map",
            "Use interleave() with num_parallel_calls=tf.data.AUTOTUNE instead of flat_map().",
        ),
    ),
    (
        "Generator",
        Message(
            "profile.stage_generator",
            "Generators run in Python, one example at a time: read files with tf.data.",
        ),
    ),
    (
        "TFRecord",
        Message(
            "profile.stage_files",
            "Read several files at once with interleave(), and cache() what fits in memory.",
        ),
    ),
    (
        "TextLine",
        Message(
            "profile.stage_files",
            "Read several files at once with interleave(), and cache() what fits in memory.",
        ),
    ),
    (
        "PaddedBatch",
        Message(
            "profile.stage_padded_batch",
            "Batch examples of similar length, and prefetch() afterwards.",
        ),
    ),
    (
        "Batch",
        Message(
            "profile.stage_batch",
            "Pass num_parallel_calls=tf.data.AUTOTUNE to batch(), and end with prefetch().",
        ),
    ),
    (
        "Shuffle",
        Message(
            "profile.stage_shuffle",
            "Use a smaller buffer, and shuffle before stages that make examples larger.",
        ),
    ),
    (
        "Filter",
        Message(
            "profile.stage_filter",
            "Filter once and keep the result with cache() or in new files.",
        ),
    ),
    (
        "Prefetch",
        Message(
            "profile.stage_prefetch",
            "Its input is not ready in time: look at the stages below it.",
        ),
    ),
    (
        "Root",
        Message(
            "profile.stage_root",
            "End the pipeline with prefetch(tf.data.AUTOTUNE).",
        ),
    ),
)


def find_stage_advice(op: str) -> Message | None:
    """Return how to speed up a kind of dataset."""
    return next((advice for prefix, advice in _ADVICE_BY_PREFIX if op.startswith(prefix)), None)
