"""`am-proxy completion bash | zsh | fish`: what the shell completes, made from the parser itself.

source <(am-proxy completion bash)
"""

import argparse
from collections.abc import Mapping
from typing import Final

from app.cli.parser import build_parser

_BASH: Final = """\
_am_proxy() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words
    case ${{COMP_WORDS[COMP_CWORD-1]}} in
        --config) COMPREPLY=($(compgen -f -- "$word")); return ;;
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
                f"complete -c am-proxy -n '__fish_seen_subcommand_from {name}' "
                + (f"-l {word[2:]}" if word.startswith("--") else f"-a {word}")
                for word in offered
            ]
        return "\n".join(lines) + "\n"
    cases = "\n".join(f'        {name}) words="{" ".join(offered)}" ;;' for name, offered in words.items())
    bash = _BASH.format(cases=cases, commands=" ".join([*words, "--help", "--version"]))
    return bash if shell == "bash" else _ZSH + bash


def _words(command: argparse.ArgumentParser) -> list[str]:
    """Flags and fixed choices."""
    found: list[str] = []
    for action in command._actions:  # noqa: SLF001 — argparse has no other way to ask what it knows
        found += [flag for flag in action.option_strings if flag.startswith("--")]
        if not action.option_strings and action.choices:
            found += [str(choice) for choice in action.choices]
    return found
