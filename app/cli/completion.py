"""`am-proxy completion bash | zsh | fish`: what the shell completes, made from the parser itself.

source <(am-proxy completion bash)
"""

import argparse
from collections.abc import Mapping
from typing import Final, get_args

from app.cli.parser import build_parser
from app.settings import Server, Upstream

_FILES: Final = "--config"
_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "--via": get_args(Upstream.model_fields["via"].annotation),
    "--log-format": get_args(Server.model_fields["log_format"].annotation),
}
"""Flags that take one of a few words."""

_BASH: Final = """\
_am_proxy() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words
    case ${{COMP_WORDS[COMP_CWORD-1]}} in
        --config) COMPREPLY=($(compgen -f -- "$word")); return ;;
{values}
    esac
    case ${{COMP_WORDS[1]}} in
{cases}
        *) words="{commands}" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -F _am_proxy am-proxy
"""
_ZSH: Final = """\
#compdef am-proxy
autoload -U +X bashcompinit && bashcompinit
"""


def completion(shell: str) -> int:
    """Print the script for one shell."""
    _, commands = build_parser()
    print(_script(shell, commands), end="")
    return 0


def _script(shell: str, commands: Mapping[str, argparse.ArgumentParser]) -> str:
    words = {name: _words(command) for name, command in commands.items()}
    if shell == "fish":
        lines = ["complete -c am-proxy -f"]
        for name, offered in words.items():
            lines.append(f"complete -c am-proxy -n __fish_use_subcommand -a {name}")
            lines += [
                f"complete -c am-proxy -n '__fish_seen_subcommand_from {name}' " + _fish(word) for word in offered
            ]
        return "\n".join(lines) + "\n"
    cases = "\n".join(f'        {name}) words="{" ".join(offered)}" ;;' for name, offered in words.items())
    values = "\n".join(
        f'        {flag}) COMPREPLY=($(compgen -W "{" ".join(told)}" -- "$word")); return ;;'
        for flag, told in _VALUES.items()
    )
    bash = _BASH.format(values=values, cases=cases, commands=" ".join([*words, "--help", "--version"]))
    return bash if shell == "bash" else _ZSH + bash


def _fish(word: str) -> str:
    if not word.startswith("--"):
        return f"-a {word}"
    if word == _FILES:
        return f"-l {word[2:]} -r -F"
    return f"-l {word[2:]}" + (f" -x -a '{' '.join(_VALUES[word])}'" if word in _VALUES else "")


def _words(command: argparse.ArgumentParser) -> list[str]:
    """Flags and fixed choices."""
    found: list[str] = []
    for action in command._actions:  # noqa: SLF001 — argparse has no other way to ask what it knows
        found += [flag for flag in action.option_strings if flag.startswith("--")]
        if not action.option_strings and action.choices:
            found += [str(choice) for choice in action.choices]
    return found
