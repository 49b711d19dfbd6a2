"""Every guarantee in docs/security.md names an existing test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    line
    for line in (ROOT / "docs" / "security.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| guarantee")
]


def test_guarantees_are_listed() -> None:
    assert len(ROWS) > 20


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:50])
def test_each_guarantee_has_a_test(row: str) -> None:
    named = re.search(r"`(tests/\S+\.py)::(\w+)` \|$", row)
    assert named, "the row names no test"
    tree = ast.parse((ROOT / named[1]).read_text(encoding="utf-8"))
    assert named[2] in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
