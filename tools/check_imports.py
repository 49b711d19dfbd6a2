"""Check import directions and package sizes: ``python tools/check_imports.py``.

The unit of the tables is a *layer*: a folder or module directly below ``tracklight/`` (or
``web/src/``). Each row lists the layers that one layer may import. Imports inside functions count
too. Modules must not import each other in a cycle; on the page, type-only and lazy imports count.
The Python package must also have at most `MAX_LEVELS` layers on top of each other, and at most
`MAX_MODULES` modules in a package. Files of the page in unrelated folders must have different
names, and there are at most `MAX_WEB_FILES`.
"""

from __future__ import annotations

import ast
import functools
import posixpath
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "tracklight"

MAX_LEVELS = 9
MAX_MODULES = 15
MAX_LAYERS = 24
#: Without tests and generated files.
MAX_WEB_FILES = 649

#: Names that files of several dashboards have.
SHARED_WEB_NAMES = ("View", "query", "schemas")

#: Layers that every other layer may import.
COMMON = ("errors", "types", "util")

PYTHON = {
    "errors": "",
    "types": "",
    "util": "",
    # Reading and showing logs, from the bottom up.
    "formats": "",
    "logdir": "formats",
    "index": "formats logdir __init__",
    "analysis": "formats logdir index",
    "plugin": "formats logdir index analysis",
    "reader": "formats logdir index analysis",
    "dashboards": "formats logdir index analysis plugin reader",
    "what_if": "analysis __init__",
    "server": "formats logdir index analysis plugin reader dashboards __init__",
    "cli": "formats logdir index analysis reader dashboards server writer hparams __init__",
    "notebook": "index analysis reader plugin dashboards server cli __init__",
    # Writing logs; never imports the index or the server.
    "writer": "formats",
    "hparams": "formats writer",
    "fairness": "formats writer analysis",
    "projector": "writer",
    "torch": "formats writer hparams projector",
    "profiler": "formats writer torch",
    "summary": "formats writer profiler hparams",
    "debugger": "formats writer",
    "keras": "formats writer summary projector profiler fairness",
    "jax": "writer summary",
    # Entry points.
    "__init__": (
        "reader summary hparams fairness projector notebook server profiler debugger what_if cli"
    ),
    "__main__": "cli",
}

#: Parts of tracklight/analysis: apart from these, one kind of data does not know another.
ANALYSIS = {
    "jobs": "",
    "source": "jobs",
    "derived_metrics": "source",
    "media": "source",
    "meshes": "source media",
    "pr_curves": "source media",
    "evaluation": "",
    "fairness": "source media evaluation",
    "graphs": "",
    "profiles": "source",
    "debugger": "source",
    "embeddings": "source jobs media",
    "experiments": "source",
    "tables": "",
    "predictors": "tables",
    "what_if": "tables predictors jobs evaluation",
}

#: Layers of the page that every other layer may import.
WEB_COMMON = ("catalog", "i18n")

WEB = {
    "i18n": "",
    "catalog": "",
    "lib": "",
    "api": "lib",
    "charts": "lib",
    "components": "lib api charts",
    "plugin": "lib api charts components",
    "cards": "lib api charts components plugin",
    "scalar-cards": "lib api charts components plugin cards",
    "dashboards": "lib api charts components plugin cards scalar-cards",
    "state": "lib api plugin",
    "shell": "lib api charts components plugin state",
    "gallery": "lib api charts components cards shell",
    "main": "api app",
    "app": "dashboards shell",
    "static": "static-setup dashboards shell",
    "static-setup": "lib api dashboards",
    "notebook": "lib api charts components plugin scalar-cards",
}

WEB_IMPORT = re.compile(
    r"""(?:^|[;>\s])(?:import|export)\b[^'"();]*?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]"""
)


class Import(NamedTuple):
    """One import statement and the layers that it connects."""

    location: str
    source: str
    target: str


def list_violations(imports: Iterable[Import], table: Mapping[str, str]) -> list[str]:
    """Return a message for each import that the table does not allow."""
    violations = []
    for location, source, target in imports:
        if source not in table:
            violations.append(f"{location}: {source} has no row in the table of import directions")
        elif source != target and target not in table[source].split():
            violations.append(f"{location}: {source} may not import {target}")
    return violations


def iter_python_imports(folder: Path, package: str = PACKAGE) -> Iterator[Import]:
    """Yield the imports between the layers below ``folder``, except those of `COMMON` layers."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        for node, name in _iter_imported_names(path, (*package.split("."), *parts[:-1])):
            target = _find_layer(folder, package, name)
            if target not in (None, *COMMON):
                yield Import(f"{path}:{node.lineno}", parts[0], target)


def _iter_imported_names(
    path: Path, parent: tuple[str, ...]
) -> Iterator[tuple[ast.Import | ast.ImportFrom, str]]:
    for node in _list_import_nodes(path.read_text(encoding="utf-8")):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        else:
            base = parent[: len(parent) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node, f"{module}.{alias.name}") for alias in node.names)


@functools.cache
def _list_import_nodes(text: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """Return the import statements of a module. Every table asks for those of the same modules."""
    nodes = ast.walk(ast.parse(text))
    return tuple(node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom)))


def _find_layer(folder: Path, package: str, name: str) -> str | None:
    """Return the layer that a dotted name belongs to; None if it is in another package."""
    if not f"{name}.".startswith(f"{package}."):
        return None
    layer = name[len(package) + 1 :].partition(".")[0]
    exists = (folder / layer).is_dir() or (folder / f"{layer}.py").exists()
    return layer if layer and exists else "__init__"


def find_module_cycle(folder: Path, package: str = PACKAGE) -> list[str] | None:
    """Return modules that import each other in a circle, or None.

    The package's own ``__init__`` is left out: it imports everything lazily.
    """
    graph: dict[str, set[str]] = {}
    modules = {_module_name(path, folder, package): path for path in folder.rglob("*.py")}
    for module, path in modules.items():
        is_package = path.name == "__init__.py"
        parent = tuple(module.split(".")) if is_package else tuple(module.split(".")[:-1])
        targets = graph.setdefault(module, set())
        for _, name in _iter_imported_names(path, parent):
            target = name if name in modules else name.rpartition(".")[0]
            if target in modules and target not in (module, package):
                targets.add(target)
    graph.pop(package, None)
    return _find_cycle(graph)


def _module_name(path: Path, folder: Path, package: str) -> str:
    parts = path.relative_to(folder).with_suffix("").parts
    return ".".join((package, *(parts[:-1] if parts[-1] == "__init__" else parts)))


def _find_cycle(graph: Mapping[str, set[str]]) -> list[str] | None:
    done: set[str] = set()
    path: list[str] = []

    def visit(node: str) -> list[str] | None:
        if node in path:
            return [*path[path.index(node) :], node]
        if node in done or node not in graph:
            return None
        path.append(node)
        for target in sorted(graph[node]):
            if cycle := visit(target):
                return cycle
        path.pop()
        done.add(node)
        return None

    for node in sorted(graph):
        if cycle := visit(node):
            return cycle
    return None


def count_levels(table: Mapping[str, str]) -> int:
    """Return the length of the longest chain of layers, without `COMMON` and the entry points."""
    levels: dict[str, int] = {}

    def level(layer: str) -> int:
        if layer not in levels:
            below = [name for name in table[layer].split() if not name.startswith("__")]
            levels[layer] = 1 + max((level(name) for name in below), default=0)
        return levels[layer]

    return max(level(layer) for layer in table if not layer.startswith("__"))


def list_size_violations(folder: Path) -> list[str]:
    """Return a message for each package with too many modules, and for too many layers."""
    violations = []
    for path in [folder, *folder.rglob("*/")]:
        modules = len(list(path.glob("*.py")))
        if path != folder and modules > MAX_MODULES:
            violations.append(f"{path}: {modules} modules, at most {MAX_MODULES}")
    layers = [
        path
        for path in folder.iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists())
        and not path.name.startswith("__")
    ]
    if len(layers) > MAX_LAYERS:
        violations.append(f"{folder}: {len(layers)} entries, at most {MAX_LAYERS}")
    return violations


def iter_web_imports(sources: Path) -> Iterator[Import]:
    """Yield the imports between files of the page, by relative path."""
    for file in _list_web_files(sources):
        for line, target in _iter_web_targets(sources, file):
            if _web_layer(target) not in WEB_COMMON:
                yield Import(f"{sources / file}:{line}", _web_layer(file), _web_layer(target))


def find_web_cycle(sources: Path) -> list[str] | None:
    """Return files of the page that import each other in a circle, or None.

    A component that imports itself is recursive, which is no cycle.
    """
    files = set(_list_web_files(sources))
    graph: dict[str, set[str]] = {}
    for file in files:
        targets = {
            name
            for _, target in _iter_web_targets(sources, file)
            for name in (target, f"{target}.ts")
        }
        graph[file] = targets & files - {file}
    return _find_cycle(graph)


def list_web_file_violations(sources: Path) -> list[str]:
    """Return a message for each two files of unrelated folders with one name, and for too many.

    `table.ts`, `table.svelte.ts` and `table.test.ts` have the same name. A folder is related to
    those below it.
    """
    tests = sorted(path for path in sources.rglob("*.test.ts"))
    files = [path for path in sorted(sources.rglob("*")) if path.is_file() and path not in tests]
    files = [path for path in files if path.relative_to(sources).parts[0] != "catalog"]
    violations = []
    if len(files) > MAX_WEB_FILES:
        violations.append(f"{sources}: {len(files)} files, at most {MAX_WEB_FILES}")
    by_name: dict[str, Path] = {}
    for path in [*files, *tests]:
        name = path.name.partition(".")[0]
        other = by_name.setdefault(name, path)
        folders = (path.parent, other.parent)
        is_related = any(one.is_relative_to(two) for one, two in (folders, folders[::-1]))
        if not is_related and name not in SHARED_WEB_NAMES:
            violations.append(f"{path}: has the name of {other}")
    return violations


def _list_web_files(sources: Path) -> list[str]:
    paths = [*sources.rglob("*.ts"), *sources.rglob("*.svelte")]
    return sorted(path.relative_to(sources).as_posix() for path in paths)


def _iter_web_targets(sources: Path, file: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the path of every relative import of a file."""
    text = (sources / file).read_text(encoding="utf-8")
    for match in WEB_IMPORT.finditer(text):
        name = match[1] or match[2]
        if name.startswith("."):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(file), name))
            yield text.count("\n", 0, match.end()) + 1, target


def _web_layer(path: str) -> str:
    first, _, rest = path.partition("/")
    return first if rest else first.split(".")[0]


def main() -> None:
    package = ROOT / PACKAGE
    violations = [
        *list_violations(iter_python_imports(package), PYTHON),
        *list_violations(
            iter_python_imports(package / "analysis", f"{PACKAGE}.analysis"), ANALYSIS
        ),
        *list_violations(iter_web_imports(ROOT / "web" / "src"), WEB),
        *list_size_violations(package),
        *list_web_file_violations(ROOT / "web" / "src"),
    ]
    for cycle in (find_module_cycle(package), find_web_cycle(ROOT / "web" / "src")):
        if cycle:
            violations.append("import cycle: " + " -> ".join(cycle))
    if (levels := count_levels(PYTHON)) > MAX_LEVELS:
        violations.append(f"{levels} levels of layers, at most {MAX_LEVELS}")
    for violation in violations:
        print(violation, file=sys.stderr)
    sys.exit(bool(violations))


if __name__ == "__main__":
    main()
