"""Compile tracklight/formats/_scan.pyx in place: ``python tools/build_kernel.py``.

``python tools/build_kernel.py ready`` only tells, by its exit status, whether that is possible.

Without a C compiler nothing is built and one sentence says so: tracklight then reads logs with its
plain-Python scanner. TRACKLIGHT_KERNEL=skip asks for that on purpose.
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
MODULE = "tracklight.formats._scan"
FOLDER = "tracklight/formats"

#: No debug information: it would hold the folder's path and make two builds differ. gcc cannot see
#: that a field is read only after the function that fills it has said that there is one.
GCC_FLAGS = ["-O3", "-g0", "-Wno-unknown-warning-option", "-Wno-maybe-uninitialized"]
MSVC_FLAGS = ["/O2"]


def build() -> Path | None:
    """Build the kernel and return its path in the tree; None where it cannot be built.

    Runs in the root of the tree, as build backends do, so that what Cython writes names no
    absolute path.
    """
    if os.environ.get("TRACKLIGHT_KERNEL") == "skip":
        return None
    missing = find_missing()
    if missing:
        print(
            f"tracklight: {missing}, so the compiled kernel is left out and reading is slower "
            "(on Debian: apt-get install gcc libc6-dev python3-dev, then install again)",
            file=sys.stderr,
        )
        return None
    return compile_kernel()


def find_missing() -> str | None:
    """Say what this machine lacks to compile an extension, if anything."""
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "Python's C headers are not installed"
    if sys.platform == "win32":
        return None  # setuptools looks for Visual C++ by itself and says what it lacks
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    return None if shutil.which(compiler) else f"the C compiler ({compiler}) is not installed"


def compile_kernel() -> Path:
    # Imported here: setuptools replaces parts of the standard library when it is loaded.
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    extension = Extension(
        MODULE,
        [f"{FOLDER}/_scan.pyx"],
        include_dirs=[FOLDER],
        depends=[str(part) for part in sorted(Path(FOLDER).glob("*.h"))],
        extra_compile_args=MSVC_FLAGS if sys.platform == "win32" else GCC_FLAGS,
    )
    modules = cythonize([extension], language_level=3, quiet=True)
    command = build_ext(Distribution({"name": "tracklight", "ext_modules": modules}))
    command.inplace = True
    with tempfile.TemporaryDirectory() as scratch:
        command.build_temp = command.build_lib = scratch
        command.ensure_finalized()
        command.run()
    return Path(command.get_ext_fullpath(MODULE)).relative_to(ROOT)


def main() -> None:
    if sys.argv[1:] == ["ready"]:
        sys.exit(find_missing() is not None)
    os.chdir(ROOT)
    build()


if __name__ == "__main__":
    main()
