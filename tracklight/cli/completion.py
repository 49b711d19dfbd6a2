"""Completion scripts for shells, generated from the argument parsers.

shtab does the same job, but completes neither values after ``=`` nor flags that are typed with
underscores; ARCHITECTURE.md has the comparison.
"""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator
from typing import NamedTuple

from tracklight.cli.parser import COMMANDS, create_parsers


class Option(NamedTuple):
    """A flag as a shell completes it."""

    flag: str
    help: str
    takes_value: bool
    choices: tuple[str, ...]


def completion(flags: Namespace) -> None:
    print(_WRITERS[flags.shell](), end="")


def list_options() -> dict[str, list[Option]]:
    """Return the documented flags of each command."""
    _, parsers = create_parsers()
    return {name: list(_iter_options(parser)) for name, parser in parsers.items()}


def list_arguments() -> dict[str, tuple[str, ...]]:
    """Return the values of the positional argument, for commands where it has fixed values."""
    _, parsers = create_parsers()
    return {
        name: tuple(map(str, action.choices))
        for name, parser in parsers.items()
        for action in parser._get_positional_actions()
        if action.choices
    }


def _iter_options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for flag, action in parser._option_string_actions.items():
        if flag.startswith("--") and action.help != argparse.SUPPRESS:
            text = (action.help or "") % {"default": action.default}
            choices = tuple(map(str, action.choices or ()))
            yield Option(flag, text, action.nargs != 0, choices)


def _write_bash() -> str:
    options = list_options()
    flags = "\n".join(
        f'        {name}) flags="{" ".join(o.flag for o in command_options)}" ;;'
        for name, command_options in options.items()
    )
    values = "\n".join(
        f'        "{name} {option.flag}") values="{" ".join(option.choices)}" ;;'
        for name, command_options in options.items()
        for option in command_options
        if option.choices
    )
    arguments = "\n".join(
        f'        {name}) values="{" ".join(choices)}" ;;'
        for name, choices in list_arguments().items()
    )
    return f"""\
# tracklight completion for bash: eval "$(tracklight completion bash)"
_tracklight() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
    local command=serve flags= values=
    # bash splits --flag=value into three words.
    if [[ "$word" == "=" ]]; then
        word=
    elif [[ "$before" == "=" ]]; then
        before="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
    case " {" ".join(COMMANDS)} " in
        *" ${{COMP_WORDS[1]:-none}} "*) command="${{COMP_WORDS[1]}}" ;;
    esac
    case "$command" in
{flags}
    esac
    case "$command" in
{arguments}
    esac
    case "$command ${{before//_/-}}" in
{values}
    esac
    if [[ "$word" == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "${{word//_/-}}"))
    elif [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "{" ".join(COMMANDS)}" -- "$word") $(compgen -d -- "$word"))
    elif [[ -n "$values" ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -o filenames -F _tracklight tracklight
"""


def _write_zsh() -> str:
    commands = "\n".join(f"        {_quote(f'{name}:{text}')}" for name, text in COMMANDS.items())
    arguments = list_arguments()
    cases = "\n".join(
        f"        {name}) _arguments {' '.join(map(_format_zsh, command_options))} "
        f"{_format_zsh_argument(arguments.get(name, ()))} ;;"
        for name, command_options in list_options().items()
    )
    return f"""\
#compdef tracklight
# tracklight completion for zsh: eval "$(tracklight completion zsh)"
_tracklight() {{
    local -a commands=(
{commands}
    )
    if (( CURRENT == 2 )) && [[ "$words[2]" != -* ]]; then
        _describe command commands
        _files -/
        return
    fi
    local command=serve
    case "${{words[2]}}" in
        {"|".join(COMMANDS)}) command="${{words[2]}}" ;;
    esac
    case "$command" in
{cases}
    esac
}}
compdef _tracklight tracklight
"""


def _format_zsh(option: Option) -> str:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
    if not option.takes_value:
        return _quote(f"{option.flag}[{text}]")
    values = f"({' '.join(option.choices)})" if option.choices else "_files"
    # With "=", the value may be the next word or follow an equals sign.
    return _quote(f"{option.flag}=[{text}]:value:{values}")


def _format_zsh_argument(choices: tuple[str, ...]) -> str:
    """Complete the arguments after the command, which itself is the first."""
    return _quote(f"*:value:({' '.join(choices)})") if choices else "'*:path:_files'"


def _write_fish() -> str:
    names = " ".join(COMMANDS)
    lines = ["# tracklight completion for fish: tracklight completion fish | source"]
    for name, text in COMMANDS.items():
        lines.append(f"complete -c tracklight -n __fish_use_subcommand -a {name} -d {_quote(text)}")
    for name, choices in list_arguments().items():
        seen = _quote(f"__fish_seen_subcommand_from {name}")
        lines.append(f"complete -c tracklight -n {seen} -f -a {_quote(' '.join(choices))}")
    for name, command_options in list_options().items():
        seen = f"__fish_seen_subcommand_from {name}"
        if name == "serve":
            seen += f"; or not __fish_seen_subcommand_from {names}"
        lines += [
            f"complete -c tracklight -n {_quote(seen)} {_format_fish(o)}" for o in command_options
        ]
    return "\n".join(lines) + "\n"


def _format_fish(option: Option) -> str:
    words = ["-l", option.flag[2:], *(["-r"] if option.takes_value else [])]
    if option.choices:
        words += ["-f", "-a", _quote(" ".join(option.choices))]
    return " ".join([*words, "-d", _quote(option.help)])


def _write_powershell() -> str:
    commands = "\n".join(
        f"        {_quote_powershell(name)} = {_quote_powershell(text)}"
        for name, text in COMMANDS.items()
    )
    arguments = "\n".join(
        f"        {_quote_powershell(name)} = {_format_powershell_list(choices)}"
        for name, choices in list_arguments().items()
    )
    options = "\n".join(
        f"        {_quote_powershell(name)} = [ordered]@{{\n"
        + "".join(f"{_format_powershell(option)}\n" for option in command_options)
        + "        }"
        for name, command_options in list_options().items()
    )
    return f"""\
# tracklight completion for PowerShell:
#   tracklight completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName tracklight -ScriptBlock {{
    param($wordToComplete, $commandAst, $cursorPosition)

    $commands = [ordered]@{{
{commands}
    }}
    $arguments = @{{
{arguments}
    }}
    # Of each flag: its help, then its values.
    $options = @{{
{options}
    }}
    # The words before the cursor, without the one that is being completed.
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 |
        Where-Object {{ $_.Extent.EndOffset -lt $cursorPosition }} |
        ForEach-Object {{ $_.ToString() }})
    $command = 'serve'
    if ($words.Count -gt 0 -and $commands.Contains($words[0])) {{ $command = $words[0] }}

    $values = @()
    $prefix = ''
    $typed = $wordToComplete
    if ($wordToComplete -match '^(--[^=]+)=(.*)$') {{
        $flag = $Matches[1].Replace('_', '-')
        $prefix = $Matches[1] + '='
        $typed = $Matches[2]
    }} elseif ($words.Count -gt 0) {{
        $flag = $words[-1].Replace('_', '-')
    }} else {{
        $flag = ''
    }}
    if ($flag -and $options[$command].Contains($flag)) {{
        $values = @($options[$command][$flag] | Select-Object -Skip 1)
    }}
    if (-not $prefix -and $wordToComplete.StartsWith('-')) {{
        $typed = $wordToComplete.Replace('_', '-')
        $options[$command].GetEnumerator() |
            Where-Object {{ $_.Key.StartsWith($typed, 'Ordinal') }} |
            ForEach-Object {{
                $help = @($_.Value)[0]
                [System.Management.Automation.CompletionResult]::new(
                    $_.Key, $_.Key, 'ParameterName', $help)
            }}
        return
    }}
    if ($values.Count -eq 0 -and $arguments.Contains($command)) {{
        $values = $arguments[$command]
    }}
    if ($values.Count -eq 0 -and $words.Count -eq 0) {{
        $commands.GetEnumerator() | Where-Object {{ $_.Key.StartsWith($typed, 'Ordinal') }} |
            ForEach-Object {{
                [System.Management.Automation.CompletionResult]::new(
                    $_.Key, $_.Key, 'ParameterValue', $_.Value)
            }}
    }}
    # Without a result, PowerShell completes file names.
    $values | Where-Object {{ $_.StartsWith($typed, 'Ordinal') }} | ForEach-Object {{
        [System.Management.Automation.CompletionResult]::new(
            "$prefix$_", $_, 'ParameterValue', $_)
    }}
}}
"""


def _format_powershell(option: Option) -> str:
    items = _format_powershell_list((option.help or option.flag, *option.choices))
    return f"            {_quote_powershell(option.flag)} = {items}"


def _format_powershell_list(items: tuple[str, ...]) -> str:
    return f"@({', '.join(map(_quote_powershell, items))})"


def _quote_powershell(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quote(text: str) -> str:
    """Quote text for bash, zsh and fish alike."""
    return "'" + text.replace("'", "'\\''") + "'"


_WRITERS = {
    "bash": _write_bash,
    "zsh": _write_zsh,
    "fish": _write_fish,
    "powershell": _write_powershell,
}
