from __future__ import annotations

import subprocess
import sys

import pytest

from tracklight.cli.flags import parse_flags
from tracklight.cli.parser import COMMANDS, create_parsers
from tracklight.errors import UsageError

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


def test_full_help_adds_flags_for_large_deployments(capsys: pytest.CaptureFixture[str]) -> None:
    _, known = create_parsers()
    assert "--request-budget" not in known["serve"].format_help()
    with pytest.raises(SystemExit):
        parse_flags(["--helpfull"])
    lines = capsys.readouterr().out.splitlines()
    assert any("--request-budget" in line for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(("text", "expected"), [("2000", 2000), ("2000/h", 2000)])
def test_request_budget(text: str, expected: int) -> None:
    assert parse_flags(["logs", f"--request-budget={text}"]).request_budget == expected


@pytest.mark.parametrize("text", ["0", "-1", "many", "5/s"])
def test_rejects_request_budget(text: str) -> None:
    with pytest.raises(UsageError, match=f'"{text}" is not a number of requests per hour'):
        parse_flags(["logs", f"--request-budget={text}"])


@pytest.mark.parametrize(("text", "problem"), [("0", "is too short"), ("soon", "not a number")])
def test_rejects_cluster_timeout(text: str, problem: str) -> None:
    assert parse_flags(["logs", "--cluster-timeout=5"]).cluster_timeout == 5
    with pytest.raises(UsageError, match=problem):
        parse_flags(["logs", f"--cluster-timeout={text}"])


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
