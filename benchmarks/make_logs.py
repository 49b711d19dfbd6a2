"""Write the benchmark logs to ``benchmarks/.logs``, once.

All records of a block have the same length, so a block is a byte array with one row per record: a
template is repeated, and the columns of wall time, step, value and checksum are filled in.
Templates come from TensorBoard's own message classes, so the bytes are those that TensorFlow
writes.
"""

from __future__ import annotations

import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_DOUBLE, DT_FLOAT, DT_STRING

from tracklight.formats.tfrecord import encode_record

Rows = NDArray[np.uint8]
Fill = NDArray[Any]

LOGS = Path(__file__).parent / ".logs"
START_S = 1.7e9
FILE_NAME = "events.out.tfevents.1700000000.host.1.0.v2"
SCALARS = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="scalars"))
HISTOGRAMS = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="histograms"))
IMAGES = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="images"))


@dataclass(frozen=True)
class Scalars:
    """Scalars: every run has every tag at every step."""

    runs: int
    tags: int
    steps: int

    @property
    def points(self) -> int:
        return self.runs * self.tags * self.steps

    @property
    def run_names(self) -> list[str]:
        return _name_runs(self.runs)

    def __str__(self) -> str:
        return f"{self.runs} runs x {self.tags:,} tags x {self.steps:,} steps"


@dataclass(frozen=True)
class Images:
    """PNG images of noise, which is incompressible: 3 bytes per pixel."""

    runs: int
    steps: int
    side: int
    a_step: int = 1

    @property
    def count(self) -> int:
        return self.runs * self.steps * self.a_step

    def __str__(self) -> str:
        if self.a_step == 1:
            return f"{self.count} images of {3e-6 * self.side**2:.1f} MB"
        return f"{self.steps:,} steps x {self.a_step} images of {self.side} x {self.side}"


@dataclass(frozen=True)
class Histograms:
    """One run with histograms of 30 buckets: every tag at every step."""

    tags: int
    steps: int

    def __str__(self) -> str:
        return f"{self.steps:,} steps x {self.tags} tags of histograms"


def get_scalars(shape: Scalars) -> Path:
    """Return the folder of a log with this shape; write it if it does not exist."""
    name = f"scalars-{shape.runs}x{shape.tags}x{shape.steps}"
    return get_log(name, lambda folder: _write_scalars(folder, shape))


def get_images(shape: Images) -> Path:
    several = f"x{shape.a_step}" if shape.a_step > 1 else ""
    name = f"images-{shape.runs}x{shape.steps}{several}x{shape.side}"
    return get_log(name, lambda folder: _write_images(folder, shape))


def get_histograms(shape: Histograms) -> Path:
    name = f"histograms-{shape.tags}x{shape.steps}"
    return get_log(name, lambda folder: _write_histograms(folder, shape))


def count_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*tfevents*"))


def get_log(name: str, write: Callable[[Path], None]) -> Path:
    """Write under a temporary name first, so that an existing log is always complete."""
    folder = LOGS / name
    if not folder.exists():
        print(f"writing {folder.name} …", flush=True)
        unfinished = LOGS / f"{name}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        write(unfinished)
        unfinished.rename(folder)
    return folder


def _name_runs(count: int) -> list[str]:
    return [f"run_{index:03}" for index in range(count)]


def _iter_files(folder: Path, runs: int) -> Iterator[Path]:
    for run in _name_runs(runs):
        path = folder / run / FILE_NAME
        path.parent.mkdir(parents=True)
        yield path


def _write_scalars(folder: Path, shape: Scalars) -> None:
    random = np.random.default_rng(2)
    tags = [f"metric/{i:05}" for i in range(shape.tags)]
    for path in _iter_files(folder, shape.runs):
        values = random.normal(size=(shape.steps, shape.tags)).astype("<f4")
        with path.open("wb") as file:
            file.write(encode_record(version_record()))
            # Step 0 is omitted on the wire, and larger steps take more bytes.
            for first, end in ((0, 1), (1, 1 << 7), (1 << 7, 1 << 14), (1 << 14, 1 << 21)):
                if first < shape.steps:
                    steps = np.arange(first, min(end, shape.steps))
                    file.write(_scalar_block(tags, steps, values[first:end]))


def _scalar_block(tags: list[str], steps: NDArray[np.int64], values: Fill) -> bytes:
    """Return the records of all tags at ``steps``, which must encode to the same length."""
    first = int(steps[0])
    templates = [np.frombuffer(scalar_record(tag, first, START_S, 1.5), np.uint8) for tag in tags]
    rows = np.tile(np.stack(templates), (len(steps), 1))
    step = np.repeat(steps, len(tags))
    _put(rows, 1, (START_S + step * 0.1).astype("<f8"))
    for index in range((first.bit_length() + 6) // 7):
        more = rows[0, 10 + index] & 0x80
        rows[:, 10 + index] = step >> 7 * index & 0x7F | more
    _put(rows, templates[0].tobytes().index(struct.pack("<f", 1.5)), values.reshape(-1))
    return _frame_rows(rows)


def scalar_record(tag: str, step: int, wall_s: float, value: float) -> bytes:
    """Encode a value like ``tf.summary.scalar``; with plugin metadata at step 0."""
    tensor = TensorProto(dtype=DT_FLOAT, tensor_content=struct.pack("<f", value), tensor_shape={})
    metadata = SCALARS if step == 0 else None
    return _record(Summary.Value(tag=tag, tensor=tensor, metadata=metadata), step, wall_s)


def _write_images(folder: Path, shape: Images) -> None:
    random = np.random.default_rng(2)
    side = str(shape.side).encode()
    for path in _iter_files(folder, shape.runs):
        with path.open("wb") as file:
            file.write(encode_record(version_record()))
            for step in range(shape.steps):
                size = (shape.a_step, shape.side, shape.side, 3)
                pictures = map(_encode_png, random.integers(0, 256, size, np.uint8))
                file.write(encode_record(_image_record(step, [side, side, *pictures])))


def _image_record(step: int, parts: list[bytes]) -> bytes:
    tensor = TensorProto(dtype=DT_STRING, string_val=parts)
    tensor.tensor_shape.dim.add(size=len(parts))
    metadata = IMAGES if step == 0 else None
    value = Summary.Value(tag="samples", tensor=tensor, metadata=metadata)
    return _record(value, step, START_S + step)


def _encode_png(pixels: Rows) -> bytes:
    """Encode a PNG without compression: compressing noise would take most of the time."""
    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = np.pad(
        pixels.reshape(height, -1), ((0, 0), (1, 0))
    )  # filter type 0 (none) before each line
    body = zlib.compress(lines.tobytes(), 0)
    chunks = _png_chunk(b"IHDR", header) + _png_chunk(b"IDAT", body) + _png_chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def _png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _write_histograms(folder: Path, shape: Histograms) -> None:
    random = np.random.default_rng(4)
    (path,) = _iter_files(folder, 1)
    with path.open("wb") as file:
        file.write(encode_record(version_record()))
        for step in range(shape.steps):
            for tag in range(shape.tags):
                file.write(
                    encode_record(_histogram_record(f"layer{tag % 10}/w{tag}", step, random))
                )


def _histogram_record(tag: str, step: int, random: np.random.Generator) -> bytes:
    counts, edges = np.histogram(random.normal(0, 1 + step / 1000, 500), 30)
    rows = np.stack([edges[:-1], edges[1:], counts], axis=1).astype("<f8")
    tensor = TensorProto(dtype=DT_DOUBLE, tensor_content=rows.tobytes())
    for size in rows.shape:
        tensor.tensor_shape.dim.add(size=size)
    metadata = HISTOGRAMS if step == 0 else None
    return _record(Summary.Value(tag=tag, tensor=tensor, metadata=metadata), step, START_S + step)


def version_record() -> bytes:
    return Event(wall_time=START_S, file_version="brain.Event:2").SerializeToString()


def _record(value: Summary.Value, step: int, wall_s: float) -> bytes:
    return Event(wall_time=wall_s, step=step, summary=Summary(value=[value])).SerializeToString()


def _frame_rows(payloads: Rows) -> bytes:
    """Frame payloads of the same length as TFRecords: length, CRC, payload, CRC."""
    count, size = payloads.shape
    rows = np.empty((count, size + 16), np.uint8)
    rows[:, :8] = np.frombuffer(struct.pack("<Q", size), np.uint8)
    _put(rows, 8, _masked_crc32c(rows[:1, :8]))
    rows[:, 12:-4] = payloads
    _put(rows, size + 12, _masked_crc32c(payloads))
    return rows.tobytes()


def _put(rows: Rows, column: int, numbers: Fill) -> None:
    rows[:, column : column + numbers.itemsize] = numbers.view(np.uint8).reshape(len(numbers), -1)


def _make_crc_table() -> NDArray[np.uint32]:
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = table >> 1 ^ (table & 1) * np.uint32(0x82F63B78)
    return table


CRC_TABLE = _make_crc_table()


def _masked_crc32c(rows: Rows) -> NDArray[np.uint32]:
    """Return the checksums of all rows, computed column by column."""
    crc = np.full(len(rows), 0xFFFFFFFF, np.uint32)
    for column in np.ascontiguousarray(rows.T):
        crc = CRC_TABLE[(crc ^ column) & 0xFF] ^ crc >> 8
    crc = ~crc
    return (crc >> 15 | crc << 17) + np.uint32(0xA282EAD8)
