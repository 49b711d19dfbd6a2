"""The names of `tracklight.plugin`, and that built-in dashboards have no more than these."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from tracklight import dashboards, plugin

#: Packages for dashboards of any kind; others analyze one kind of data.
SHARED = ("tracklight.index", "tracklight.analysis.media", "tracklight.logdir")


def test_names_are_listed_in_order() -> None:
    assert plugin.__all__ == sorted(plugin.__all__)


def test_all_names_of_tracklight_are_listed() -> None:
    ours = {
        name
        for name, value in vars(plugin).items()
        if getattr(value, "__module__", "").startswith("tracklight") and not name.startswith("_")
    }
    assert ours <= set(plugin.__all__)
    assert all(hasattr(plugin, name) for name in plugin.__all__)


@pytest.mark.parametrize("package", SHARED)
def test_plugins_have_what_several_built_in_dashboards_use(package: str) -> None:
    public = [getattr(plugin, name) for name in plugin.__all__]
    users: dict[tuple[str, str], set[str]] = {}
    root = Path(dashboards.__file__).parent
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package):
                for alias in node.names:
                    key = node.module or "", alias.name
                    users.setdefault(key, set()).add(path.relative_to(root).parts[0])
    missing = [
        f"{module}.{name}"
        for (module, name), names in users.items()
        if len(names) > 1
        and not any(getattr(importlib.import_module(module), name) is one for one in public)
    ]
    assert missing == []
