"""What kinds of datasets do for a pipeline, and what makes a slow one faster."""

from __future__ import annotations

from typing import Literal

Work = Literal["reading", "preparing", "gathering", "handing over"]

WHAT: dict[str, str] = {
    "reading": "Files are read, or other sources asked.",
    "preparing": "Functions of the pipeline are run on examples.",
    "gathering": "Examples are shuffled and put into batches.",
    "handing over": "Waiting for what other threads prepare, and taking it from them.",
    "copying": "Batches are copied to the device, and nothing is computed meanwhile.",
    "loading": "The program waits in its loader.",
}

_WORK: tuple[tuple[Work, tuple[str, ...]], ...] = (
    ("reading", ("TFRecord", "TextLine", "FixedLengthRecord", "SSTable", "RecordIO")),
    ("reading", ("ArrayRecord", "CSV", "Generator", "TensorSlice", "FromTensor", "Range")),
    ("reading", ("FileCache", "MemoryCache", "MemoryReader", "DataService", "Load", "List")),
    ("gathering", ("Batch", "PaddedBatch", "Shuffle", "Unbatch", "Rebatch", "Window", "Group")),
    ("handing over", ("Root", "Prefetch", "Model", "MaxIntraOp", "PrivateThread", "Options")),
)

_PARALLEL = (
    "It already runs in parallel: do less in it, run it on batches instead of single examples, or "
    "cache() what it gives."
)
_ADVICE: tuple[tuple[str, str], ...] = (
    ("MapAndBatch", _PARALLEL),
    ("ParallelMap", _PARALLEL),
    ("ParallelInterleave", "Read more files at once: a larger cycle_length."),
    ("Map", "Give map() num_parallel_calls=tf.data.AUTOTUNE, and cache() what does not change."),
    ("Interleave", "Give interleave() num_parallel_calls=tf.data.AUTOTUNE."),
    ("FlatMap", "Use interleave() with num_parallel_calls=tf.data.AUTOTUNE instead of flat_map()."),
    ("Generator", "A generator runs in Python, one example at a time: read files with tf.data."),
    ("TFRecord", "Read several files at once with interleave(), and cache() what fits in memory."),
    ("TextLine", "Read several files at once with interleave(), and cache() what fits in memory."),
    ("PaddedBatch", "Batch examples of about one length together, and prefetch() afterwards."),
    ("Batch", "Give batch() num_parallel_calls=tf.data.AUTOTUNE, and end with prefetch()."),
    ("Shuffle", "A smaller buffer is sooner full; shuffle before what makes examples large."),
    ("Filter", "Filter once, and keep what is left: cache(), or other files."),
    ("Prefetch", "What feeds it is not ready in time: look at the stages below it."),
    ("Root", "End the pipeline with prefetch(tf.data.AUTOTUNE)."),
)


def find_work(op: str) -> Work:
    """What a kind of dataset does; those of which nothing is known prepare."""
    parallel = op.removeprefix("Parallel")
    found = (work for work, starts in _WORK if parallel.startswith(starts))
    return "preparing" if op.startswith("MapAndBatch") else next(found, "preparing")


def advise(op: str) -> str:
    return next((advice for start, advice in _ADVICE if op.startswith(start)), "")
