"""TFRecord files of 3 GB are read with limited memory. Each test runs in a process of its own."""

from __future__ import annotations

import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tracklight.formats.tfrecord import masked_crc32c

pytestmark = pytest.mark.slow

_SIZE = 3 << 30
_PROGRAM = """
    import io, os, resource, sys
    sys.modules["tensorflow"] = None  # it is not needed, and takes long to import
    import numpy as np
    from tracklight.analysis.tables.files import ReadLimits, read_files
    from tracklight.analysis.tables.objects import to_table
    from tracklight.formats.tfrecord import encode_record
    from tracklight.analysis.predictors.python_models import make_tf_examples

    class Repeated(io.RawIOBase):
        '''A file of the same block again and again, without the disk.'''

        def __init__(self, block, size):
            self._block, self._size, self._position = block, size // len(block) * len(block), 0

        def readable(self):
            return True

        def seekable(self):
            return True

        def seek(self, offset, whence=0):
            self._position = offset
            return offset

        def readinto(self, buffer):
            start = self._position % len(self._block)
            count = min(len(buffer), len(self._block) - start, self._size - self._position)
            buffer[:count] = self._block[start : start + count]
            self._position += count
            return count

    def open_file(path):
        if path == "repeated.tfrecord":
            return io.BufferedReader(Repeated(BLOCK, SIZE))
        return open(path, "rb")

    def get_peak_mb():
        # `ru_maxrss` begins with the memory of the process that started this one.
        if os.path.exists("/proc/self/status"):
            with open("/proc/self/status") as file:
                return next(int(line.split()[1]) for line in file if line[:6] == "VmHWM:") / 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
"""


def run(program: str, **values: object) -> list[str]:
    """Run a program after `_PROGRAM`, with some variables; return the lines that it prints."""
    settings = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    text = textwrap.dedent(_PROGRAM) + settings + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


_BLOCK = """
    vectors = np.random.default_rng(0).normal(size=(256, 700)).astype(np.float32)
    rows = [{"x": float(number), "vector": vector} for number, vector in enumerate(vectors)]
    messages = make_tf_examples(to_table(rows))
    BLOCK = b"".join(encode_record(message.SerializeToString()) for message in messages)
    base_mb = get_peak_mb()
"""


def test_a_file_of_3_gb_is_read_up_to_the_limit() -> None:
    program = """
    table = read_files(["repeated.tfrecord"], open_file, ReadLimits(max_bytes=128 << 20))
    print(len(table), int(get_peak_mb() - base_mb))
    print(*table.problems)
    """
    counted, problem = run(_BLOCK + program, SIZE=_SIZE)
    rows, peak_mb = map(int, counted.split())
    assert 30_000 < rows < 90_000
    assert peak_mb < 600
    assert problem.startswith(f"only the first {rows:,} rows were read, because they take")


def test_a_sample_of_a_file_of_3_gb_takes_the_memory_of_its_rows() -> None:
    program = """
    table = read_files(["repeated.tfrecord"], open_file, ReadLimits(sampling_ratio=0.01))
    print(len(table), int(get_peak_mb() - base_mb), len(table.problems))
    """
    (counted,) = run(_BLOCK + program, SIZE=_SIZE)
    rows, peak_mb, problems = map(int, counted.split())
    assert 0.8 < rows / (0.01 * _SIZE / 2840) < 1.2
    assert peak_mb < 400 and problems == 0


def test_a_record_that_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "claim.tfrecord"
    length = struct.pack("<Q", 2_000_000_000)
    with path.open("wb") as file:
        file.write(length + struct.pack("<I", masked_crc32c(length)))
        file.truncate(_SIZE)  # sparse: it takes no room on the disk
    program = """
    from tracklight.errors import FormatError
    try:
        read_files([PATH], open_file, ReadLimits(max_bytes=256 << 20))
    except FormatError as error:
        print(error)
    print(int(get_peak_mb()))
    """
    message, peak_mb = run(program, PATH=str(path))
    assert "the record at byte 0 is 2000000000 bytes long" in message
    assert int(peak_mb) < 300
