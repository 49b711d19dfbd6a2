from __future__ import annotations

import subprocess
import sys

import pytest

from tracklight.cli.parser import COMMANDS, create_parsers

_SCREEN = 24
_TALL_SCREEN = 50


def test_help_fits_a_screen() -> None:
    parser, _ = create_parsers()
    lines = parser.format_help().splitlines()
    assert len(lines) <= _SCREEN
    assert max(map(len, lines)) <= 80
    assert all(any(name in line for line in lines) for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_fits_a_tall_screen(command: str) -> None:
    _, known = create_parsers()
    lines = known[command].format_help().splitlines()
    assert len(lines) <= _TALL_SCREEN
    assert max(map(len, lines)) <= 80


def test_help_imports_nothing_heavy() -> None:
    script = (
        "import sys\nfrom tracklight.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'starlette', 'uvicorn', 'msgspec', 'tracklight.index'}\n"
        "print('heavy:', sorted(heavy & set(sys.modules)))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert finished.stdout.endswith("heavy: []\n")
