"""What tf.data does for a batch of photographs: reads them as they are asked for, or ahead."""

from __future__ import annotations

import numpy as np

from tracklight.demo.flowers_model import BATCH, COLOURS, SIDE
from tracklight.demo.xspace import Line, Told

_ASKS = "IteratorGetNextOp::DoCompute"
_ROOT, _BATCHES, _IMAGES, _ORDER, _PATHS, _AHEAD, _SHUFFLES, _KEPT = range(101, 109)
_SHAPES = f"[{BATCH},{SIDE},{SIDE},{COLOURS}] [{BATCH}]"
_IMAGE_SHAPES = f"[{SIDE},{SIDE},{COLOURS}] []"
_TYPES = "float int32"
#: What becomes of a file, and microseconds that each takes.
_READS = (
    ("ReadFile:ReadFile", 120.0),
    ("decode_image/DecodeImage:DecodeImage", 940.0),
    ("resize/ResizeBilinear:ResizeBilinear", 310.0),
    ("one_hot:OneHot", 4.0),
)


def read_batch(line: Line, rng: np.random.Generator, at_us: float, **asked: Told) -> float:
    """Read a batch file by file while the step waits; gives when it is there."""
    start, now = at_us, at_us + 30
    for _ in range(BATCH):
        now = _read_image(line, rng, now)
    took = now - start
    line.add(_ASKS, start, took + 60, **asked)
    line.add("Iterator::Root", start + 8, took + 44, **_tell(_ROOT, "Root", _SHAPES))
    about: dict[str, Told] = {"batch_size": BATCH, "drop_remainder": "false", "parallelism": 1}
    told = _tell(_BATCHES, "BatchDatasetV2:3", _SHAPES, _ROOT)
    line.add("Iterator::Root::BatchV2", start + 14, took + 30, **told, **about)
    return now + 60


def _read_image(line: Line, rng: np.random.Generator, at_us: float) -> float:
    name = "Iterator::Root::BatchV2::Map"
    now = at_us + 6
    line.add(f"{name}::Shuffle", now, 9, **_tell(_ORDER, "ShuffleDatasetV3:1", "[]", _IMAGES))
    path = _tell(_PATHS, "TensorSliceDataset:0", "[]", _ORDER)
    line.add(f"{name}::Shuffle::TensorSlice", now + 2, 3, **path)
    began = now = now + 11
    for op, usual_us in _READS:
        took = usual_us * float(np.exp(rng.normal(0, 0.12)))
        line.add(op, now, took)
        now += took + 3
    line.add("InstantiatedCapturedFunction::Run", began - 1, now - began + 2, id=_IMAGES)
    line.add(
        name, at_us, now + 4 - at_us, **_tell(_IMAGES, "MapDataset:2", _IMAGE_SHAPES, _BATCHES)
    )
    return now + 6


def take_batch(
    line: Line, ahead: Line, rng: np.random.Generator, number: int, at_us: float, **asked: Told
) -> float:
    """Take a batch that a thread of its own put together while the step before was computed."""
    line.add(_ASKS, at_us, 92, **asked)
    line.add("Iterator::Root", at_us + 8, 78, **_tell(_ROOT, "Root", _SHAPES))
    about: dict[str, Told] = {"autotune": "true", "buffer_limit": 4, "buffer_size": 3}
    told = _tell(_AHEAD, "PrefetchDataset:6", _SHAPES, _ROOT)
    line.add("Iterator::Root::Prefetch", at_us + 14, 66, **told, **about)
    line.add("PrefetchConsume", at_us + 22, 3, element_id=number)
    _prepare_batch(ahead, rng, number + 3, at_us + 110)
    return at_us + 92


def _prepare_batch(line: Line, rng: np.random.Generator, number: int, at_us: float) -> None:
    took = 1450 * float(np.exp(rng.normal(0, 0.1)))
    line.add("PrefetchProduce", at_us, took, element_id=number)
    name = "Iterator::Root::Prefetch::BatchV2"
    line.add(name, at_us + 6, took - 12, **_tell(_BATCHES, "BatchDatasetV2:5", _SHAPES, _AHEAD))
    each = (took - 40) / BATCH
    for image in range(BATCH):
        start = at_us + 14 + image * each
        shuffled = _tell(_SHUFFLES, "ShuffleDatasetV3:4", _IMAGE_SHAPES, _BATCHES)
        line.add(f"{name}::Shuffle", start, each - 3, **shuffled, buffer_size=1000)
        kept = _tell(_KEPT, "CacheDatasetV2:3", _IMAGE_SHAPES, _SHUFFLES)
        line.add(f"{name}::Shuffle::MemoryCache", start + 4, each - 12, **kept)


def _tell(number: int, name: str, shapes: str, parent: int = 0) -> dict[str, Told]:
    told: dict[str, Told] = {"name": name, "shapes": shapes, "types": _TYPES, "id": number}
    return told | {"parent_id": parent} if parent else told
