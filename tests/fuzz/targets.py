"""The fuzz targets: functions of bytes that must not raise, and seed inputs for each."""

from __future__ import annotations

import json
import math
import pickle
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from tests import builders as b
from tests.analysis.profiles.run_all_analyses import run_all_analyses
from tests.analysis.profiles.snapshot_builder import CachingAllocator
from tests.scanning import assert_agree
from tracklight.analysis.graphs.parsers import parse_graph_file
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.memory.snapshots import analyze_snapshot
from tracklight.cli.demo.writers import Plane, encode_space
from tracklight.errors import FormatError
from tracklight.formats import scanner, tensor
from tracklight.formats.batch import find_scalar
from tracklight.formats.media import encode_wav, find_wav_sample_rate, parse_wav
from tracklight.formats.profiles.memory_profiles import parse_cuda_snapshot

try:
    from tracklight.formats import _scan
except ImportError:
    SCANNERS = [scanner.PythonScanner]
else:
    SCANNERS = [scanner.PythonScanner, _scan.Scanner]

GRAPHS = Path(__file__).parent.parent / "data/graphs"

#: The first byte of a profile input determines its format.
PLANES, CHROME = b"p", b"c"
#: The parts of an input of the scan target.
RECORD, RAW, HEADER, FLIPPED, SCAN = range(5)


def run_scan(program: bytes) -> None:
    """Both scanners must agree on any file, scanned while it grows."""
    data, sizes = assemble(program)
    assert_agree(SCANNERS, data, sizes)


def assemble(program: bytes) -> tuple[bytes, list[int]]:
    """Build a file from parts, each encoded as a kind (one byte), a length (two bytes) and content.

    Without this, nearly every mutation would result in a wrong checksum.

    Returns:
        The file, and the sizes at which it is scanned.
    """
    data, sizes = b"", []
    while len(program) >= 3:
        kind, length = struct.unpack_from("<BH", program)
        part, program = program[3 : 3 + length], program[3 + length :]
        if kind == RECORD:
            data += b.record(part)
        elif kind == HEADER:
            data += b.header(int.from_bytes(part[:8], "little"))
        elif kind == FLIPPED:
            data += b.flip(b.record(part), length)
        elif kind == SCAN:
            sizes.append(len(data) - len(part))
        else:
            data += part
    return data, [size for size in sizes if size >= 0]


def part(kind: int, content: bytes = b"") -> bytes:
    return struct.pack("<BH", kind, len(content)) + content


def iter_programs() -> Iterator[bytes]:
    """Yield inputs with every kind of value and of damage."""
    scalar = b.event(b.summary(b.value("t", b.simple(0.5), b.metadata("scalars"))), step=1, wall=2)
    numbers = [b.value("n", body) for body in iter_tensors()]
    parts = (b.blob(3, b"brain.Event:2"), b.blob(4, b"g"), b.blob(8, b.blob(1, b"r")), b.blob(9))
    yield part(RECORD, scalar) * 3
    yield part(RECORD, b.event(b.summary(*numbers), step=-1))
    yield part(RECORD, b.event(*parts, b.blob(10, b.blob(1, b"writer"))))
    yield part(RECORD, scalar) + part(RECORD, b.event(b.session(1))) + part(RECORD, scalar)
    for damage in (part(RAW, b"garbage"), part(RAW, bytes(40)), part(FLIPPED, scalar)):
        yield part(RECORD, scalar) + damage + part(SCAN, b"1234") + part(RECORD, scalar)
    for length in (60, 1 << 32, (1 << 64) - 1):
        torn = part(HEADER, length.to_bytes(8, "little")) + part(SCAN)
        yield torn + part(RAW, b"half") + part(RECORD, scalar) + part(SCAN, b"1") + part(RAW, b"x")


def run_tensor(data: bytes) -> None:
    """Decoding returns an array that matches the scanner, or raises FormatError."""
    try:
        array = tensor.decode_tensor(data, max_bytes=1 << 20)
        scalar = find_scalar(data, 0, len(data))
    except FormatError:
        return
    assert array.nbytes <= 1 << 20
    if scalar is not None:
        value = array.item()
        assert scalar[1] == value or (math.isnan(scalar[1]) and math.isnan(value)), (scalar, value)


def iter_tensors() -> Iterator[bytes]:
    """Yield tensor fields of every dtype, with tensor_content and with repeated fields."""
    for dtype in range(1, 26):
        yield b.tensor(dtype, b.shape(1), b.content(bytes(range(1, 9))))
    for number in (7, 10, 11, 13, 16, 17):
        yield b.tensor(number, b.integer(number, 300), b.blob(number, b"\x01\x02"))
    yield b.tensor(b.FLOAT, b.shape(2, 2), b.single(5, 1.0), b.blob(5, struct.pack("<ff", 2, 3)))
    yield b.tensor(b.DOUBLE, b.shape(3), b.blob(6, struct.pack("<d", 2)))
    yield b.tensor(b.STRING, b.shape(2), b.blob(8, b"text"), b.blob(8, b""))
    yield b.tensor(b.STRING, b.shape(2), b.content(b"\x01\x02abc"))
    yield b.tensor(b.COMPLEX64, b.shape(1), b.single(9, 1.0), b.single(9, -1.0))
    yield b.tensor(b.FLOAT8_E5M2, b.shape(2), b.blob(18, b"\x3c\x7d"))


def iter_tensor_messages() -> Iterator[bytes]:
    for field in iter_tensors():
        start = 2 if field[1] < 0x80 else 3
        yield field[start:]


def run_wav(data: bytes) -> None:
    """Decoding returns at most as many samples as bytes, or raises FormatError."""
    find_wav_sample_rate(data)
    try:
        wav = parse_wav(data)
    except FormatError:
        return
    assert wav.decode().size <= len(data)
    assert wav.decode(1, 5).shape[1] == wav.channels and wav.duration_s >= 0


def iter_wavs() -> Iterator[bytes]:
    """Yield a file of every encoding."""
    plain = encode_wav(np.arange(12, dtype=np.int16).reshape(6, 2), 8000)
    for code, width in ((1, 1), (1, 2), (1, 3), (1, 4), (3, 4), (3, 8), (6, 1), (7, 1)):
        header = struct.pack("<HHIIHH", code, 2, 8000, 16000 * width, 2 * width, 8 * width)
        yield plain[:20] + header + plain[36:]
    guid = struct.pack("<HHIH", 22, 16, 3, 1) + bytes(14)
    header = b"\xfe\xff" + plain[22:36] + guid
    yield plain[:16] + struct.pack("<I", len(header)) + header + plain[36:]


def run_graph(data: bytes) -> None:
    """Any file is a graph whose nodes can all be described, or raises FormatError."""
    try:
        graph = parse_graph_file("file", data)
    except FormatError:
        return
    for body in [graph, *graph.functions.values()]:
        for node in range(len(body)):
            body.describe(node)


def iter_models() -> Iterator[bytes]:
    """Yield a small model file of every format."""
    for name in ("choice.onnx", "function.pb", "keras2_sequential.json", "step.mlir"):
        yield (GRAPHS / name).read_bytes()
    yield b'node { name: "a" op: "A" input: "^a" attr { key: "T" value { type: DT_HALF } } }'


def run_profile(data: bytes) -> None:
    """Any file is a profile that all analyses accept, or raises FormatError."""
    suffix = ".xplane.pb" if data[:1] == PLANES else ".trace.json"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"capture{suffix}")
        path.write_bytes(data[1:])
        try:
            trace = open_capture(path)
        except FormatError:
            return
        run_all_analyses(trace)


def iter_captures() -> Iterator[bytes]:
    """Yield a small profile of each format, with everything that the analyses use."""
    host, device = Plane("/host:CPU"), Plane("/device:GPU:0", core_count=4, clock_rate=5)
    thread, stream = host.add_line(1, "python"), device.add_line(7, "Stream #7(Compute)")
    thread.add("train", 0, 90, _r=1, step_num=1)
    thread.add("IteratorGetNext", 5, 20, id=4, iter_num=0)
    thread.add("a/b:MatMul", 30, 9, correlation_id=1)
    sizes = {"bytes_allocated": 4, "allocation_bytes": 4, "addr": 1, "allocator_name": "GPU_0"}
    thread.add("MemoryAllocation", 31, 0, **sizes, tf_op="a/b:MatMul", data_type=1)
    details = "regs:1 static_shared:2 dynamic_shared:3 grid:4,1,1 block:5,1,1 occ_pct:6"
    stream.add("gemm", 40, 8, correlation_id=1, kernel_details=details, hlo_op="dot.1")
    yield PLANES + encode_space([host, device, Plane("Task Environment", a=1.5)], "host")
    kernel = {"correlation": 1, "External id": 2, "grid": [1, 1, 1], "Input type": ["float"]}
    memory = {"Bytes": 5, "Addr": 1, "Device Type": 1, "Total Allocated": 9}
    kinds = (("cpu_op", kernel), ("kernel", kernel), ("cpu_instant_event", memory))
    events = [
        {"ph": "X", "cat": cat, "name": "[memory]", "pid": 1, "tid": 2, "ts": 3.5, "dur": 4,
         "args": args}
        for cat, args in kinds
    ]  # fmt: skip
    step = {"ph": "B", "name": "ProfilerStep#1", "ts": 1}
    listed = [step, *events, {"ph": "E", "ts": 9}]
    yield CHROME + json.dumps({"deviceProperties": [{}], "traceEvents": listed}).encode()


def run_snapshot(data: bytes) -> None:
    """Any file is a memory snapshot that can be analyzed, or raises FormatError."""
    try:
        snapshot = parse_cuda_snapshot(data)
    except FormatError:
        return
    for device in analyze_snapshot(snapshot):
        assert device.in_use_bytes[device.peak] == device.in_use_bytes.max()


def iter_snapshots() -> Iterator[bytes]:
    """Yield snapshots of each version of the pickle format with the same content."""
    allocator = CachingAllocator()
    allocator.allocate(3000, "weights")
    allocator.free(allocator.allocate(5000, "activations"))
    for protocol in (2, 3, 4, 5):
        yield pickle.dumps(allocator.make_snapshot(), protocol)


RUN: dict[str, Callable[[bytes], None]] = {
    "scan": run_scan,
    "tensor": run_tensor,
    "wav": run_wav,
    "graph": run_graph,
    "profile": run_profile,
    "snapshot": run_snapshot,
}
SEEDS = {
    "scan": iter_programs,
    "tensor": iter_tensor_messages,
    "wav": iter_wavs,
    "graph": iter_models,
    "profile": iter_captures,
    "snapshot": iter_snapshots,
}
