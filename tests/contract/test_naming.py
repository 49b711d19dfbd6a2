"""Names follow the conventions in CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from tools.check_imports import ROOT

FOLDERS = ("benchmarks", "examples", "tests", "tools", "tracklight")
TEXTS = {
    path.relative_to(ROOT): path.read_text(encoding="utf-8")
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
}

EXCEPTION = re.compile(r"^class (?!\w*Error\()(\w+)\([^)]*(?:Error|Exception)\b", re.MULTILINE)
LIMIT = re.compile(r"^_?(?:MOST|LEAST|LARGEST|SMALLEST)_\w+(?=:| =)", re.MULTILINE)


def test_functions_that_find_something_may_return_none() -> None:
    wrong = [
        f"{path}:{node.lineno}: {node.name}"
        for path, text in TEXTS.items()
        if re.search(r"def _*find_", text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.lstrip("_").startswith("find_")
        and (node.returns is None or "None" not in ast.unparse(node.returns))
    ]
    assert wrong == []


def test_limits_and_exceptions_have_conventional_names() -> None:
    wrong = [
        f"{path}: {match[0]}"
        for path, text in TEXTS.items()
        if path.parts[0] == "tracklight"
        for pattern in (EXCEPTION, LIMIT)
        for match in pattern.finditer(text)
    ]
    assert wrong == []


def test_names_in_documentation_exist() -> None:
    modules = {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): text
        for path, text in TEXTS.items()
        if path.parts[0] == "tracklight"
    }
    documents = {path: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
    texts = {**documents, **{Path(module): text for module, text in modules.items()}}
    wrong = [
        f"{path}: {name}"
        for path, text in texts.items()
        for name in re.findall(r"`(tracklight(?:\.(?!toml)\w+)+)`", text)
        if not _exists(name, modules)
    ]
    assert wrong == []


def _exists(name: str, modules: Mapping[str, str]) -> bool:
    """Return whether a dotted name is a module, or its next part is in the text of its module."""
    module = name
    while module not in modules:
        module = module.rpartition(".")[0]
    attribute = name[len(module) + 1 :].partition(".")[0]
    return re.search(rf"\b{attribute}\b", modules[module]) is not None
