"""docs/cli-reference.md is up to date."""

from __future__ import annotations

import re

from tools.write_cli_reference import TARGET, write_text
from tracklight.cli.parser import COMMANDS, create_parsers


def test_page_is_up_to_date() -> None:
    assert TARGET.read_text(encoding="utf-8") == write_text()


def test_page_lists_all_commands_and_flags() -> None:
    text = write_text()
    assert re.findall(r"^## tracklight (\w+)$", text, re.MULTILINE) == list(COMMANDS)
    _, parsers = create_parsers()
    for command, parser in parsers.items():
        section = text.partition(f"## tracklight {command}\n")[2].partition("\n## ")[0]
        flags = re.findall(r"  (--[\w-]+)", parser.format_help())
        assert set(flags) - set(re.findall(r"`(--[\w-]+)", section)) <= {"--help"}


def test_defaults_are_filled_in() -> None:
    assert "%(" not in write_text()
