from __future__ import annotations

import shutil
import subprocess

import pytest

from tracklight.cli import main
from tracklight.cli.completion import list_options
from tracklight.cli.parser import COMMANDS, SHELLS


def write_script(shell: str, capfd: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capfd.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["ins"], {"inspect"}),
        (["--path"], {"--path-prefix"}),
        (["--path_"], {"--path-prefix"}),
        (["export", "--for"], {"--format"}),
        (["inspect", "--gr"], {"--graph"}),
        (["logs", "--win"], {"--window-title"}),
        (["completion", ""], {"bash", "zsh", "fish"}),
    ],
)
def test_bash_completes(
    words: list[str], found: set[str], capfd: pytest.CaptureFixture[str]
) -> None:
    script = write_script("bash", capfd)
    line = f"COMP_WORDS=(tracklight {' '.join(words)} ''); COMP_CWORD={len(words)}"
    answer = subprocess.run(
        ["bash", "-c", f'{script}\n{line}\n_tracklight\nprintf "%s\\n" "${{COMPREPLY[@]}}"'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(answer.stdout.split()) == found
    assert answer.stderr == ""


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_and_flag_is_in_the_script(
    shell: str, capfd: pytest.CaptureFixture[str]
) -> None:
    script = write_script(shell, capfd)
    assert all(name in script for name in COMMANDS)
    for options in list_options().values():
        assert all(option.flag.removeprefix("--") in script for option in options)


@pytest.mark.parametrize("shell", SHELLS)
def test_the_shell_takes_its_script(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    script = write_script(shell, capfd)
    subprocess.run([program, "-n"], input=script, text=True, check=True)
