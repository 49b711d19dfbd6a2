"""Names follow the conventions in CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re

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
