"""Hold the import directions: ``python tools/check_imports.py``.

A room is a folder of the package or of web/src, or a module at the top of either; a folder with
many rooms of its own has a table as well. The tables below say which other rooms each one may
import. Imports inside functions count as well: being late does not make them right.
"""

from __future__ import annotations

import ast
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "tracklight"

#: Every room may also import errors, types and util.
PYTHON = {
    "__init__": "log runs summary hparams projector notebook service capture",
    "formats": "_html",
    "logdir": "formats",
    "index": "formats logdir",
    "notes": "",
    "alerts": "logdir notes",
    "sdk": "formats",
    "summary": "formats sdk tracing",
    "hparams": "formats sdk",
    "projector": "sdk",
    "runs": "formats sdk summary hparams",
    "keras": "formats sdk summary projector tracing",
    "tracing": "formats sdk torch",
    "capture": "sdk tracing",
    "torch": "formats sdk projector",
    "lightning": "formats sdk torch",
    "transformers": "sdk torch",
    "jax": "sdk summary",
    "log": "_html formats logdir index plugin_base media sessions graphs meshes",
    "export": "formats logdir index log",
    "inspect": "formats logdir index log graphs profiles tensorfiles embeddings",
    "plugin_base": "logdir index",
    "plugin": "formats logdir index media projections plugin_base",
    "media": "formats plugin_base",
    "meshes": "formats media plugin_base",
    "sessions": "formats logdir index plugin_base",
    "graphs": "formats",
    "profiles": "formats logdir",
    "tensorfiles": "formats logdir",
    "embeddings": "formats logdir tensorfiles",
    "projections": "",
    "dashboards": "formats logdir index notes log export plugin_base plugin media meshes graphs "
    "sessions tensorfiles embeddings projections profiles",
    "server": "formats logdir index log notes alerts plugin_base sessions dashboards __init__",
    "snapshot": "export notes plugin_base server __init__",
    "demo": "formats sdk",
    "cli": "formats logdir index log notes alerts export inspect dashboards server snapshot demo "
    "hparams embeddings tensorfiles __init__",
    "notebook": "index log plugin dashboards server cli __init__",
    "service": "logdir log server",
    "program": "cli server",
    "main": "cli",
    "__main__": "cli",
    "errors": "",
    "util": "",
    "types": "_html",
    "_html": "",
}

#: Rooms of tracklight/analysis/profiles, each of which imports only what stands above it.
PROFILES = {
    "columns": "",
    "devices": "",
    "durations": "",
    "trace": "columns devices",
    "chrome": "trace",
    "reading": "columns devices durations trace",
    "captures": "reading trace",
    "program": "columns trace",
    "ops": "columns trace program",
    "xprof": "columns trace ops",
    "steps": "columns trace ops xprof",
    "kernels": "columns trace program ops steps",
    "roofline": "devices trace program ops",
    "memory": "trace steps",
    "findings": "durations trace steps kernels",
    "input": "columns trace steps findings",
    "summary": "columns devices durations trace ops steps kernels findings input",
    "timeline": "columns trace",
}

WEB = {
    "base": "",
    "api": "base",
    "charts": "base",
    "widgets": "base api charts",
    "plugin": "base api charts widgets",
    "wall": "base api charts widgets plugin",
    "curves": "base api charts widgets plugin wall",
    "dashboards": "base api charts widgets plugin wall curves",
    "core": "base api plugin",
    "shell": "base api charts widgets plugin core",
    "gallery": "base api charts widgets wall shell",
    "main": "dashboards shell",
    "static": "api dashboards shell",
    "notebook": "base api charts widgets plugin curves",
}

WEB_IMPORT = re.compile(
    r"""(?:^|[;>\s])(?:import|export)\b[^'"();]*?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]"""
)


class Import(NamedTuple):
    """One import statement, by the rooms that it joins."""

    place: str
    source: str
    target: str


def find_faults(imports: Iterable[Import], table: dict[str, str]) -> list[str]:
    """Say which imports the table does not allow."""
    faults = []
    for place, source, target in imports:
        if source not in table:
            faults.append(f"{place}: {source} has no row in the table of import directions")
        elif source != target and target not in table[source].split():
            faults.append(f"{place}: {source} may not import {target}")
    return faults


def iter_python_imports(package: Path, called: str = PACKAGE) -> Iterator[Import]:
    """Every import of one room by another in the package, errors, types and util left out."""
    for path in sorted(package.rglob("*.py")):
        inside = path.relative_to(package).with_suffix("").parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in _iter_imported_names(node, (*called.split("."), *inside[:-1])):
                target = _find_room(package, called, name)
                if target not in (None, "errors", "types", "util"):
                    yield Import(f"{path}:{node.lineno}", inside[0], target)


def _iter_imported_names(node: ast.AST, folder: tuple[str, ...]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        parent = folder[: len(folder) - node.level + 1] if node.level else ()
        module = ".".join([*parent, *([node.module] if node.module else [])])
        yield from (f"{module}.{alias.name}" for alias in node.names)


def _find_room(package: Path, called: str, name: str) -> str | None:
    """The room that a dotted name leads to; None for another package's name."""
    if not f"{name}.".startswith(f"{called}."):
        return None
    room = name[len(called) + 1 :].partition(".")[0]
    is_room = (package / room).is_dir() or (package / f"{room}.py").exists()
    return room if room and is_room else "__init__"


def iter_web_imports(sources: Path) -> Iterator[Import]:
    """Every import of one file of the page by another, by way of a relative path."""
    for path in sorted([*sources.rglob("*.ts"), *sources.rglob("*.svelte")]):
        inside = path.relative_to(sources)
        text = path.read_text(encoding="utf-8")
        for match in WEB_IMPORT.finditer(text):
            name = match[1] or match[2]
            if name.startswith("."):
                target = posixpath.normpath(f"{inside.parent.as_posix()}/{name}")
                line = text.count("\n", 0, match.end()) + 1
                yield Import(f"{path}:{line}", _web_room(inside.as_posix()), _web_room(target))


def _web_room(path: str) -> str:
    first, _, rest = path.partition("/")
    return first if rest else first.split(".")[0]


def main() -> None:
    faults = [
        *find_faults(iter_python_imports(ROOT / PACKAGE), PYTHON),
        *find_faults(
            iter_python_imports(ROOT / PACKAGE / "profiles", f"{PACKAGE}.profiles"), PROFILES
        ),
        *find_faults(iter_web_imports(ROOT / "web" / "src"), WEB),
    ]
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
