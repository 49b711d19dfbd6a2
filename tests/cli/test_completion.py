from __future__ import annotations

import shutil
import subprocess

import pytest

from tracklight.cli import main
from tracklight.cli.completion import list_options
from tracklight.cli.parser import COMMANDS, SHELLS

(FORMATS,) = (it.choices for it in list_options()["export"] if it.flag == "--format")


def write_script(shell: str, capfd: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capfd.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ins"], {"inspect"}),
        (["--path"], {"--path-prefix"}),
        (["--path_"], {"--path-prefix"}),
        (["export", "--for"], {"--format"}),
        (["inspect", "--gr"], {"--graph"}),
        (["logs", "--win"], {"--window-title"}),
        (["completion", ""], {"bash", "zsh", "fish", "powershell"}),
        (["completion", "p"], {"powershell"}),
        (["export", "--format", ""], {*FORMATS}),
        (["export", "logs", "--format", "c"], {"csv"}),
        (["export", "--format", "=", "p"], {"parquet"}),
        (["export", "--format", "="], {*FORMATS}),
    ],
)
def test_bash_completes(
    words: list[str], expected: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    script = write_script("bash", capfd)
    given = " ".join(word or "''" for word in words)
    line = f"COMP_WORDS=(tracklight {given}); COMP_CWORD={len(words)}"
    finished = subprocess.run(
        ["bash", "-c", f'{script}\n{line}\n_tracklight\nprintf "%s\\n" "${{COMPREPLY[@]}}"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(finished.stdout.split()) == expected
    assert finished.stderr == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_script_contains_every_command_and_flag(
    shell: str, capfd: pytest.CaptureFixture[str]
) -> None:
    script = write_script(shell, capfd)
    assert all(name in script for name in COMMANDS)
    for options in list_options().values():
        assert all(option.flag.removeprefix("--") in script for option in options)


@pytest.mark.parametrize("shell", SHELLS)
def test_shell_accepts_its_script(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    program = shutil.which("pwsh" if shell == "powershell" else shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    script = write_script(shell, capfd)
    if shell == "powershell":
        command = [program, "-NoProfile", "-Command", "-"]
    else:
        command = [program, "-n"]
    finished = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    assert finished.stderr == ""


def test_zsh_completes_the_flags_of_the_command(capfd: pytest.CaptureFixture[str]) -> None:
    script = write_script("zsh", capfd)
    assert f'{"|".join(COMMANDS)}) command="${{words[2]}}" ;;' in script
    assert f":value:({' '.join(FORMATS)})'" in script


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tracklight ins", {"inspect"}),
        ("tracklight export --format ", {*FORMATS}),
        ("tracklight export --format=p", {"--format=parquet"}),
        ("tracklight completion p", {"powershell"}),
    ],
)
def test_fish_completes(line: str, expected: set[str], capfd: pytest.CaptureFixture[str]) -> None:
    script = write_script("fish", capfd)
    finished = subprocess.run(
        ["fish", "--no-config", "-c", f"{script}\ncomplete -C '{line}'"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {it.partition("\t")[0] for it in finished.stdout.splitlines()} == expected


@pytest.mark.skipif(shutil.which("pwsh") is None, reason="there is no PowerShell")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tracklight ins", {"inspect"}),
        ("tracklight export --for", {"--format"}),
        ("tracklight export --format ", {*FORMATS}),
        ("tracklight export --format=p", {"--format=parquet"}),
        ("tracklight completion p", {"powershell"}),
    ],
)
def test_powershell_completes(
    line: str, expected: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    script = write_script("powershell", capfd)
    ask = f"(TabExpansion2 '{line}' {len(line)}).CompletionMatches.CompletionText"
    finished = subprocess.run(
        ["pwsh", "-NoProfile", "-Command", f"{script}\n{ask}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(finished.stdout.split()) == expected


@pytest.mark.parametrize("shell", SHELLS)
def test_script_contains_the_values_of_choices(
    shell: str, capfd: pytest.CaptureFixture[str]
) -> None:
    script = write_script(shell, capfd)
    separator = "', '" if shell == "powershell" else " "
    assert separator.join(FORMATS) in script
    assert separator.join(SHELLS) in script
    # PowerShell treats typographic quotation marks like plain ones.
    assert script.isascii()
