"""What a shell needs to complete commands and flags, made from the parser itself."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Iterator
from typing import NamedTuple

from tracklight.cli.parser import COMMANDS, create_parsers


class Option(NamedTuple):
    """A flag as a shell sees it."""

    flag: str
    help: str
    takes_value: bool
    choices: tuple[str, ...]


def completion(flags: Namespace) -> None:
    print(_WRITERS[flags.shell](), end="")


def list_options() -> dict[str, list[Option]]:
    """The flags of each command that help tells of."""
    _, parsers = create_parsers()
    return {name: list(_iter_options(parser)) for name, parser in parsers.items()}


def _iter_options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for flag, action in parser._option_string_actions.items():
        if flag.startswith("--") and action.help != argparse.SUPPRESS:
            text = (action.help or "") % {"default": action.default}
            choices = tuple(map(str, action.choices or ()))
            yield Option(flag, text, action.nargs != 0, choices)


def _write_bash() -> str:
    options = list_options()
    cases = "\n".join(
        f'        {name}) flags="{" ".join(o.flag for o in found)}" ;;'
        for name, found in options.items()
    )
    return f"""\
# tracklight completion for bash: eval "$(tracklight completion bash)"
_tracklight() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" command=serve flags=
    case " {" ".join(COMMANDS)} " in
        *" ${{COMP_WORDS[1]:-none}} "*) command="${{COMP_WORDS[1]}}" ;;
    esac
    case "$command" in
{cases}
    esac
    if [[ "$word" == -* ]]; then
        COMPREPLY=($(compgen -W "$flags" -- "${{word//_/-}}"))
    elif [[ $COMP_CWORD -eq 1 ]]; then
        COMPREPLY=($(compgen -W "{" ".join(COMMANDS)}" -- "$word") $(compgen -d -- "$word"))
    elif [[ "$command" == completion ]]; then
        COMPREPLY=($(compgen -W "bash zsh fish" -- "$word"))
    else
        COMPREPLY=($(compgen -f -- "$word"))
    fi
}}
complete -o filenames -F _tracklight tracklight
"""


def _write_zsh() -> str:
    commands = "\n".join(f"        {_quote(f'{name}:{text}')}" for name, text in COMMANDS.items())
    cases = "\n".join(
        f"        {name}) _arguments {' '.join(map(_say_zsh, found))} '*:path:_files' ;;"
        for name, found in list_options().items()
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
    (( ${{#${{(M)commands:#$words[2]:*}}}} )) && command="$words[2]"
    case "$command" in
{cases}
    esac
}}
compdef _tracklight tracklight
"""


def _say_zsh(option: Option) -> str:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", "\\:")
    values = f"({' '.join(option.choices)})" if option.choices else "_files"
    return _quote(f"{option.flag}[{text}]" + (f":value:{values}" if option.takes_value else ""))


def _write_fish() -> str:
    names = " ".join(COMMANDS)
    lines = ["# tracklight completion for fish: tracklight completion fish | source"]
    for name, text in COMMANDS.items():
        lines.append(f"complete -c tracklight -n __fish_use_subcommand -a {name} -d {_quote(text)}")
    for name, found in list_options().items():
        seen = f"__fish_seen_subcommand_from {name}"
        if name == "serve":
            seen += f"; or not __fish_seen_subcommand_from {names}"
        lines += [f"complete -c tracklight -n {_quote(seen)} {_say_fish(o)}" for o in found]
    return "\n".join(lines) + "\n"


def _say_fish(option: Option) -> str:
    words = ["-l", option.flag[2:], *(["-r"] if option.takes_value else [])]
    if option.choices:
        words += ["-a", _quote(" ".join(option.choices))]
    return " ".join([*words, "-d", _quote(option.help)])


def _quote(text: str) -> str:
    """In quotes that mean the same to all three shells."""
    return "'" + text.replace("'", "'\\''") + "'"


_WRITERS = {"bash": _write_bash, "zsh": _write_zsh, "fish": _write_fish}
