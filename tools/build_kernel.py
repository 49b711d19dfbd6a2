"""Compile the kernels in place: ``python tools/build_kernel.py``.

``python tools/build_kernel.py ready`` only tells, by its exit status, whether that is possible.

Without a C compiler nothing is built and one sentence says so: tracklight then reads and writes
logs in plain Python. TRACKLIGHT_KERNEL=skip asks for that on purpose.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNELS = [
    "tracklight/formats/_scan",
    "tracklight/formats/_encode",
    "tracklight/formats/_debug_events",
    "tracklight/formats/_xplane",
    "tracklight/debugger/_health",
    "tracklight/index/_loops",
    "tracklight/analysis/embeddings/projections/_forces",
    "tracklight/analysis/embeddings/projections/_neighbors",
    "tracklight/analysis/profiles/_nesting",
]

#: The first version of the stable ABI with the buffer protocol, which the kernels use.
STABLE_ABI_VERSION = (3, 11)

#: No debug information: it would hold the folder's path and make two builds differ. gcc cannot see
#: that a field is read only after the function that fills it has said that there is one.
GCC_FLAGS = [
    "-O3",
    "-g0",
    "-Wno-unknown-warning-option",
    "-Wno-maybe-uninitialized",
    "-Wno-unused-function",
]
MSVC_FLAGS = ["/O2"]


def has_stable_abi() -> bool:
    """Return whether kernels that are built here can run with all later versions of CPython."""
    is_free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    is_cpython = sys.implementation.name == "cpython"
    return is_cpython and not is_free_threaded and sys.version_info >= STABLE_ABI_VERSION


def build(stable_abi: bool = False) -> list[Path]:
    """Build the kernels and return their paths in the tree; none where they cannot be built.

    With `stable_abi` they are for `STABLE_ABI_VERSION` and all later ones; otherwise for the
    running one, whose kernels Python prefers.

    Runs in the root of the tree, as build backends do, so that what Cython writes names no
    absolute path.
    """
    if os.environ.get("TRACKLIGHT_KERNEL") == "skip":
        return []
    missing = find_missing()
    if missing:
        say_missing(missing, "on Debian: apt-get install gcc libc6-dev python3-dev")
        return []
    from setuptools.errors import PlatformError

    try:
        return compile_kernels(stable_abi)
    except PlatformError:
        say_missing("Visual C++ is not installed", "get the Build Tools for Visual Studio")
        return []


def say_missing(what: str, remedy: str) -> None:
    print(
        f"tracklight: {what}, so the compiled kernels are left out and all is slower "
        f"({remedy}, then install again)",
        file=sys.stderr,
    )


def find_missing() -> str | None:
    """Return what this machine lacks to compile an extension, or None."""
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "Python's C headers are not installed"
    if sys.platform == "win32":
        return None  # whether Visual C++ is there is known when it is used
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    return None if shutil.which(compiler) else f"the C compiler ({compiler}) is not installed"


def compile_kernels(stable_abi: bool) -> list[Path]:
    # Imported here: setuptools replaces parts of the standard library when it is loaded.
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    major, minor = STABLE_ABI_VERSION
    extensions = [
        Extension(
            kernel.replace("/", "."),
            [f"{kernel}.pyx"],
            include_dirs=[str(Path(kernel).parent)],
            depends=[str(header) for header in sorted(Path(kernel).parent.glob("*.h"))],
            extra_compile_args=MSVC_FLAGS if sys.platform == "win32" else GCC_FLAGS,
            define_macros=[("Py_LIMITED_API", f"0x{major:02X}{minor:02X}0000")] * stable_abi,
            py_limited_api=stable_abi,
        )
        for kernel in KERNELS
    ]
    # Cython starts processes for this, which copy the program on Linux only.
    processes = os.cpu_count() or 1 if sys.platform == "linux" else 0
    modules = cythonize(extensions, nthreads=processes, language_level=3, quiet=True)
    command = build_ext(Distribution({"name": "tracklight", "ext_modules": modules}))
    command.inplace = True
    command.parallel = os.cpu_count()
    with tempfile.TemporaryDirectory() as scratch:
        command.build_temp = command.build_lib = scratch
        command.ensure_finalized()
        command.run()
    built = [Path(command.get_ext_fullpath(extension.name)) for extension in extensions]
    return [path.relative_to(ROOT) for path in built]


def main() -> None:
    if sys.argv[1:] == ["ready"]:
        sys.exit(find_missing() is not None)
    os.chdir(ROOT)
    build()


if __name__ == "__main__":
    main()
