"""Titles of findings and advice on them, specific to each framework."""

from __future__ import annotations

from typing import NamedTuple

from tracklight.analysis.profiles.trace import Framework


class Advice(NamedTuple):
    """What to do about a finding."""

    text: str
    code: str = ""
    """Lines to paste; empty if there are none."""


FINDING_TITLES = {
    "input": "The input is too slow",
    "kernel launch": "Kernel launches delay the device",
    "host": "The host delays the device",
    "small kernels": "Kernels are too short for their launch overhead",
    "precision": "The device computes in 32 bits",
    "copies": "Copies delay the step",
    "collectives": "Devices wait for each other",
    "compilation": "Programs are compiled during steps",
    "retracing": "Functions are retraced",
    "eager": "The step is not compiled",
    "other": "Time without recorded events",
}

#: Advice by finding and framework; "" is the default for other frameworks.
_ADVICE: dict[str, dict[str, Advice]] = {
    "input": {
        "tensorflow": Advice(
            "End the tf.data pipeline with prefetch(AUTOTUNE), pass num_parallel_calls=AUTOTUNE to "
            "map(), and cache() what does not change.",
            "dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE).cache()\n"
            "dataset = dataset.shuffle(1000).batch(32).prefetch(tf.data.AUTOTUNE)",
        ),
        "torch": Advice(
            "Create the DataLoader with more num_workers, pin_memory=True and "
            "persistent_workers=True.",
            "loader = DataLoader(\n"
            "    data, batch_size=32, num_workers=8, pin_memory=True, persistent_workers=True\n"
            ")",
        ),
        "jax": Advice(
            "Load the next batch in a thread while the current step runs, and move it to the "
            "device ahead of time with jax.device_put.",
            "batch = jax.device_put(next(batches))  # before waiting for the current step",
        ),
        "": Advice("Load the next batch in another thread or process while the current step runs."),
    },
    "kernel launch": {
        "tensorflow": Advice(
            "Pass steps_per_execution to compile(), or jit_compile=True to fuse small ops. If a "
            "tf.data pipeline keeps the CPU busy, reserve threads for launches with "
            "TF_GPU_THREAD_MODE=gpu_private.",
            "model.compile(..., jit_compile=True, steps_per_execution=16)",
        ),
        "torch": Advice(
            "Use torch.compile, or CUDA graphs if the shapes of a step never change.",
            'model = torch.compile(model, mode="reduce-overhead")',
        ),
        "jax": Advice(
            "Compile the whole step with one jax.jit.",
            "@jax.jit\ndef train_step(state, batch): ...",
        ),
        "": Advice("Launch fewer and larger kernels."),
    },
    "host": {
        "tensorflow": Advice(
            "Give the device more work at a time: larger batches, steps_per_execution, "
            "jit_compile=True. Move the preprocessing of examples into tf.data.",
            "model.compile(..., jit_compile=True, steps_per_execution=16)",
        ),
        "torch": Advice(
            "Give the device more work at a time: larger batches, torch.compile. Do not read "
            "values of tensors (item, print, cpu) in every step.",
            "model = torch.compile(model)",
        ),
        "jax": Advice(
            "Compile the whole step with one jax.jit, and do not read its results in every step: "
            "then the next step is prepared while the current one runs.",
            "if step % 100 == 0:\n    print(float(loss))  # waits for the device",
        ),
        "": Advice("Give the device more work at a time, and wait for it less often."),
    },
    "precision": {
        "tensorflow": Advice(
            "Set a mixed precision policy before building the model.",
            'keras.mixed_precision.set_global_policy("mixed_bfloat16")',
        ),
        "torch": Advice(
            "Run the forward pass under autocast.",
            'with torch.autocast("cuda", torch.bfloat16):\n    loss = criterion(model(x), y)',
        ),
        "jax": Advice(
            "Use jnp.bfloat16 for activations and for the weights of the step.",
            "weights = jax.tree.map(lambda w: w.astype(jnp.bfloat16), weights)",
        ),
        "": Advice("Compute in 16 bits where the model allows it."),
    },
    "copies": {
        "tensorflow": Advice(
            "Prefetch to the device.",
            'dataset = dataset.apply(tf.data.experimental.prefetch_to_device("/gpu:0"))',
        ),
        "torch": Advice(
            "Copy with non_blocking=True from pinned memory, and rarely read values of tensors "
            "(item, print, cpu).",
            "x = x.to(device, non_blocking=True)  # from a DataLoader with pin_memory=True",
        ),
        "jax": Advice(
            "Call jax.device_put for the next batch before waiting for the current step."
        ),
        "": Advice("Copy the next batch while the current step runs."),
    },
    "collectives": {
        "torch": Advice(
            "Overlap gradient communication with the backward pass: DistributedDataParallel with "
            "larger buckets and NCCL. Or accumulate gradients over several batches.",
            "model = DistributedDataParallel(model, bucket_cap_mb=100)",
        ),
        "": Advice("Communicate gradients less often, in 16 bits, or while others are computed."),
    },
    "compilation": {
        "tensorflow": Advice(
            "Call a tf.function with tensors of the same shape, so that it is compiled once.",
            "dataset = dataset.batch(32, drop_remainder=True)",
        ),
        "torch": Advice(
            "Keep shapes constant, or declare them dynamic.",
            "model = torch.compile(model, dynamic=True)",
        ),
        "jax": Advice(
            "Keep shapes constant, and pass changing values as arrays instead of static arguments."
        ),
        "": Advice("Compile before the first step."),
    },
    "retracing": {
        "": Advice(
            "Call a tf.function with tensors of the same shape instead of Python numbers, and "
            "create it once, outside of loops.",
            "@tf.function(reduce_retracing=True)\ndef train_step(x, y): ...",
        )
    },
    "eager": {
        "tensorflow": Advice(
            "Run the step in a tf.function, and do not compile a Keras model with "
            "run_eagerly=True.",
            "@tf.function\ndef train_step(x, y): ...",
        ),
        "": Advice("Compile the whole step."),
    },
    "other": {
        "python": Advice("Look in the trace viewer for what the program waits for."),
        "": Advice("Check what Python does between ops: logging, printing, waiting for values."),
    },
}

_ADVICE["small kernels"] = {
    **_ADVICE["kernel launch"],
    "tensorflow": Advice(
        "Let XLA fuse them.",
        "model.compile(..., jit_compile=True)  # or tf.function(jit_compile=True)",
    ),
}


def get_advice(finding: str, framework: Framework) -> Advice:
    """Return the advice on a finding for a framework."""
    by_framework = _ADVICE[finding]
    return by_framework.get(framework) or by_framework[""]
