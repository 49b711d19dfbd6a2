"""Run the kernel under AddressSanitizer and UBSan."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
FORMATS = ROOT / "tracklight" / "formats"
SANITIZE = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]


@pytest.fixture(scope="module")
def libasan() -> Path:
    """Return the library to preload, because Python itself is not sanitized."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    command = ["gcc", "-print-file-name=libasan.so"]
    path = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    if not path.is_absolute():
        pytest.skip("gcc has no AddressSanitizer (Debian: libgcc-dev)")
    return path


@pytest.fixture(scope="module")
def kernel(libasan: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("Cython", reason="Cython is not installed")
    include = Path(sysconfig.get_path("include"))
    if not (include / "Python.h").exists():
        pytest.skip("Python's C headers are not installed")
    folder = tmp_path_factory.mktemp("kernel")
    source, library = folder / "_scan.c", folder / "_scan.so"
    cython = [sys.executable, "-m", "cython", "-3", str(FORMATS / "_scan.pyx"), "-o", str(source)]
    subprocess.run(cython, check=True)
    includes = [f"-I{path}" for path in (include, FORMATS, np.get_include())]
    command = ["gcc", "-O0", "-g1", "-w", "-shared", "-fPIC", *SANITIZE, *includes]
    subprocess.run([*command, str(source), "-o", str(library)], check=True)
    return library


def test_kernel_has_no_memory_errors(kernel: Path, libasan: Path) -> None:
    environment = {
        **os.environ,
        "LD_PRELOAD": str(libasan),
        "PYTHONMALLOC": "malloc",  # without the arenas that hide overflows
        "ASAN_OPTIONS": "detect_leaks=0",  # Python does not free all memory at exit
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    command = [sys.executable, "-m", "tests.formats.kernel_sanitizer", str(kernel)]
    result = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr[-5000:]
    assert result.stdout == "no errors\n"
