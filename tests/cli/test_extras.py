"""The extras of pyproject.toml are complete in `tracklight doctor` and the README."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from tracklight.cli.doctor import EXTRAS

ROOT = Path(__file__).parents[2]


def read_extras() -> dict[str, list[str]]:
    content: Any = msgspec.toml.decode((ROOT / "pyproject.toml").read_bytes())
    extras: dict[str, list[str]] = content["project"]["optional-dependencies"]
    return extras


def list_packages(extra: str, extras: dict[str, list[str]]) -> set[str]:
    packages: set[str] = set()
    for requirement in extras[extra]:
        nested = re.fullmatch(r"tracklight\[(.*)\]", requirement)
        if nested:
            packages.update(*(list_packages(name, extras) for name in nested[1].split(",")))
        else:
            packages.add(re.split(r"[^\w.-]", requirement)[0])
    return packages


def test_all_covers_every_other_extra() -> None:
    extras = read_extras()
    (requirement,) = extras["all"]
    named = re.fullmatch(r"tracklight\[(.*)\]", requirement)
    assert named is not None
    assert set(named[1].split(",")) == set(extras) - {"all"}


def test_doctor_knows_every_extra_and_its_packages() -> None:
    extras = read_extras()
    assert set(EXTRAS) == set(extras) - {"all"}
    for name, extra in EXTRAS.items():
        assert set(extra.packages) == list_packages(name, extras)


def test_readme_lists_every_extra() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## Extras")[2].partition("\n## ")[0]
    for name in EXTRAS:
        assert f"`{name}`" in table
