"""Run a kernel that was compiled with sanitizers on valid and damaged files.

LD_PRELOAD=libasan.so PYTHONMALLOC=malloc python -m tests.formats.kernel_sanitizer path/to/_scan.so
"""

from __future__ import annotations

import array
import ctypes
import importlib.util
import random
import sys
from types import ModuleType

import numpy as np

from tests import builders as b
from tests.fuzz.targets import assemble, iter_programs
from tracklight.formats.batch import Content, ScalarType, ScannedValue

ROUNDS = 400


def main(path: str) -> None:
    assert ctypes.CDLL(None).__asan_init, "libasan is not loaded"
    kernel = load(path)
    rng = random.Random(0)
    for program in iter_programs():
        data, _ = assemble(program)
        for _ in range(ROUNDS):
            scan_growing(kernel, data, rng)
            data = mutate(assemble(program)[0], rng)
    use_other_functions(kernel)
    print("no errors")


def load(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("tracklight.formats._scan", path)
    assert spec and spec.loader
    kernel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernel)
    return kernel


def copy_tightly(data: bytes) -> array.array[int]:
    """Copy bytes to memory without the terminating zero of a bytes object."""
    return array.array("B", list(data))


def mutate(data: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.randint(0, 4)):
        at = rng.randint(0, len(data))
        kind = rng.randrange(4)
        if kind == 0 and data:
            data = b.flip(data, at)
        elif kind == 1:
            data = data[:at] + rng.randbytes(rng.randint(1, 30)) + data[at:]
        elif kind == 2:
            data = data[:at]
        else:
            # With valid checksums, so that the damage reaches the parser.
            data += b.record(b.flip(data[at : at + rng.randint(1, 200)] or b"x", rng.randrange(99)))
    return data


def scan_growing(kernel: ModuleType, data: bytes, rng: random.Random) -> None:
    scanner = kernel.Scanner()
    for size in sorted([*(rng.randint(0, len(data)) for _ in range(2)), len(data)]):
        scanner.rewind(size)
        moved = True
        while moved:
            at = scanner.position
            end = size if rng.random() < 0.5 else min(size, at + rng.randint(1, 300))
            scanner.scan(copy_tightly(data[at:end]), size)
            moved = scanner.position > at


def use_other_functions(kernel: ModuleType) -> None:
    """Use everything but `scan`: many tags, large records, checksums."""
    tags = [b"", *(f"tag {number}".encode() for number in range(1000))]
    scanner = kernel.Scanner(tags, range(0, 1000, 3), 100)
    for content in (Content.IMAGE, Content.TENSOR):
        for scalar in (
            None,
            (ScalarType.FLOAT, 0.5),
            (ScalarType.INT, -1),
            (ScalarType.UINT, (1 << 64) - 1),
        ):
            values = [
                ScannedValue(tag, content, 1, 2.0, 100, 3, 4, metadata, scalar)
                for tag in (b"", b"new", tags[-1])
                for metadata in (None, b"", b"\x0a\x03\x0a\x01x", b"\x0a\xff")
            ]
            scanner.accept(values, scanner.position + 50)
    scanner.reject(scanner.position + 50)
    for size in range(40):
        kernel.crc32c(copy_tightly(bytes(range(size))))
    column, crcs = np.arange(9, dtype=np.int64), np.zeros(3, np.uint32)
    kernel.crc32c_of_rows(column, np.array([0, 2, 2, 9], np.int64), crcs)


if __name__ == "__main__":
    main(sys.argv[1])
