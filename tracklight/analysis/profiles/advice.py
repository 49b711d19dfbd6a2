"""What to change, in the words of the framework that wrote a capture."""

from __future__ import annotations

from typing import NamedTuple

from tracklight.analysis.profiles.trace import Framework


class Advice(NamedTuple):
    """A sentence, and lines to paste where there are any."""

    text: str
    code: str = ""


FINDING_TITLES = {
    "input": "The input is too slow",
    "kernel launch": "Launches hold the device up",
    "host": "The host holds the device up",
    "small kernels": "Kernels are too short to be worth their launch",
    "precision": "The device computes in 32 bits",
    "copies": "Copies hold the step up",
    "collectives": "Devices wait for one another",
    "compilation": "Programs change while they run",
    "retracing": "Functions are not reused",
    "eager": "The step is not compiled",
    "other": "Something is not seen",
}

#: "" stands for frameworks of which nothing better is known.
_ADVICE: dict[str, dict[str, Advice]] = {
    "input": {
        "tensorflow": Advice(
            "End the tf.data pipeline with prefetch(AUTOTUNE), give its map calls "
            "num_parallel_calls=AUTOTUNE, and cache() what does not change.",
            "dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE).cache()\n"
            "dataset = dataset.shuffle(1000).batch(32).prefetch(tf.data.AUTOTUNE)",
        ),
        "torch": Advice(
            "Give the DataLoader more num_workers, pin_memory=True and persistent_workers=True.",
            "loader = DataLoader(\n"
            "    data, batch_size=32, num_workers=8, pin_memory=True, persistent_workers=True\n"
            ")",
        ),
        "jax": Advice(
            "Load the next batch in a thread while this one is computed, and put it on the device "
            "ahead of time with jax.device_put.",
            "batch = jax.device_put(next(batches))  # before the step that uses it is waited for",
        ),
        "": Advice("Load the next batch in another thread or process while this one is used."),
    },
    "kernel launch": {
        "tensorflow": Advice(
            "Give compile() steps_per_execution, or jit_compile=True to fuse small ops. Where a "
            "tf.data pipeline takes the processor, give launches threads of their own with "
            "TF_GPU_THREAD_MODE=gpu_private.",
            "model.compile(..., jit_compile=True, steps_per_execution=16)",
        ),
        "torch": Advice(
            "Use torch.compile, or CUDA graphs for a step that never changes its shapes.",
            'model = torch.compile(model, mode="reduce-overhead")',
        ),
        "jax": Advice(
            "Put the whole step under one jax.jit.", "@jax.jit\ndef train_step(state, batch): ..."
        ),
        "": Advice("Launch fewer and larger kernels."),
    },
    "host": {
        "tensorflow": Advice(
            "Let the device have more to do at a time: larger batches, steps_per_execution, "
            "jit_compile=True; and let tf.data do what is done to examples.",
            "model.compile(..., jit_compile=True, steps_per_execution=16)",
        ),
        "torch": Advice(
            "Let the device have more to do at a time: larger batches, torch.compile; and do not "
            "ask for values of tensors (item, print, cpu) in every step.",
            "model = torch.compile(model)",
        ),
        "jax": Advice(
            "Put the whole step under one jax.jit, and do not wait for its values in every step: "
            "the next one is then prepared while this one runs.",
            "if step % 100 == 0:\n    print(float(loss))  # which waits; elsewhere nothing does",
        ),
        "": Advice("Let the device have more to do at a time, and wait for it less often."),
    },
    "precision": {
        "tensorflow": Advice(
            "Set a policy of mixed precision before the model is built.",
            'keras.mixed_precision.set_global_policy("mixed_bfloat16")',
        ),
        "torch": Advice(
            "Run the forward pass under autocast.",
            'with torch.autocast("cuda", torch.bfloat16):\n    loss = criterion(model(x), y)',
        ),
        "jax": Advice(
            "Keep weights for the step and activations in jnp.bfloat16.",
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
            "Copy with non_blocking=True from pinned memory, and ask for values of tensors "
            "(item, print, cpu) rarely.",
            "x = x.to(device, non_blocking=True)  # of a DataLoader with pin_memory=True",
        ),
        "jax": Advice("Call jax.device_put for the next batch before this step is waited for."),
        "": Advice("Copy the next batch while this one is used."),
    },
    "collectives": {
        "torch": Advice(
            "Let gradients gather while the backward pass still runs: DistributedDataParallel with "
            "larger buckets, over NCCL; or add up several batches before they are exchanged.",
            "model = DistributedDataParallel(model, bucket_cap_mb=100)",
        ),
        "": Advice("Exchange gradients less often, in 16 bits, or while others are computed."),
    },
    "compilation": {
        "tensorflow": Advice(
            "Call a tf.function with tensors of one shape, so that it is compiled once.",
            "dataset = dataset.batch(32, drop_remainder=True)",
        ),
        "torch": Advice(
            "Keep shapes as they are, or say that they change.",
            "model = torch.compile(model, dynamic=True)",
        ),
        "jax": Advice(
            "Keep shapes as they are and pass what changes as arrays, not as static arguments."
        ),
        "": Advice("Compile before the first step."),
    },
    "retracing": {
        "": Advice(
            "Call a tf.function with tensors of one shape and not with Python numbers, and make it "
            "once and not in a loop.",
            "@tf.function(reduce_retracing=True)\ndef train_step(x, y): ...",
        )
    },
    "eager": {
        "tensorflow": Advice(
            "Put what runs in a step into a tf.function, and do not compile a Keras model with "
            "run_eagerly=True.",
            "@tf.function\ndef train_step(x, y): ...",
        ),
        "": Advice("Compile the step as a whole."),
    },
    "other": {
        "python": Advice("Look in the trace at what the program waits for."),
        "": Advice(
            "Look at what Python does between the ops: logging, printing, waiting for values."
        ),
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
    """What to do about something that was found."""
    known = _ADVICE[finding]
    return known.get(framework) or known[""]
