"""`am-proxy completion bash | zsh | fish`: the script with which a shell completes commands, flags and their values.

bash and zsh: eval "$(am-proxy completion bash)"    fish: am-proxy completion fish | source
"""

from typing import Final, get_args

import shtab

from ..settings import Server, Upstream
from .parser import build_parser

_VALUES: Final = {
    "via": get_args(Upstream.model_fields["via"].annotation),
    "log_format": get_args(Server.model_fields["log_format"].annotation),
}
"""Flags that take one of a few words. The configuration checks them; the parser does not."""


def completion(shell: str) -> int:
    """Print the script for one shell."""
    parser = build_parser()
    for command in parser.commands.values():
        for action in command._actions:  # noqa: SLF001 — argparse has no other way to list the flags of a parser
            action.choices = _VALUES.get(action.dest, action.choices)
            if action.dest == "config":
                setattr(action, "complete", shtab.FILE)  # noqa: B010 — what shtab looks for; mypy knows no such attribute
    print(shtab.complete(parser, shell))
    return 0
