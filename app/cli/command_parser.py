"""A parser whose errors say what was meant, and whose help is the command's own."""

import argparse
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, Final, NoReturn

from ..settings import did_you_mean
from ..settings.gone import Kind, instead_of
from .style import colour_wanted, painted

_ANOTHER_WORD: Final = {
    **dict.fromkeys(("run", "start", "up", "server", "daemon"), "serve"),
    **dict.fromkeys(("validate", "lint", "config", "show", "settings"), "check"),
    **dict.fromkeys(("test", "probe", "diagnose", "status"), "doctor"),
    **dict.fromkeys(("key", "token", "tokens"), "keys"),
    **dict.fromkeys(("codex", "agent", "agents"), "launch"),
}
"""What other programs call these commands."""
_SHORT: Final = len("-p")
_NO_VALUE: Final = ": ignored explicit argument "
_MISSING: Final = "the following arguments are required: "
"""Of argparse's own messages."""


class CommandParser(argparse.ArgumentParser):
    """The parser of the whole command line, or of one command."""

    def __init__(self, *, usage: str, examples: Sequence[str] = (), **settings: Any) -> None:
        """`usage` is the line after the program's name. `examples` are whole lines."""
        lines = ["examples:", *(f"  {line}".rstrip() for line in examples)]
        super().__init__(
            usage=f"am-proxy {usage}",
            epilog="\n".join(lines) if examples else None,
            formatter_class=_AsWritten,
            allow_abbrev=False,
            add_help=False,
            **settings,
        )
        self.siblings: Mapping[str, CommandParser] = {}
        """All commands beside this one, for flags that are theirs."""
        self.after_unknown = ""
        """What is said about arguments that it does not know."""
        self._positionals.title = "arguments"
        self._optionals.title = "flags"
        self.add_argument("-h", "--help", action="help", help="print this help")

    @property
    def commands(self) -> dict[str, "CommandParser"]:
        """The parsers of its commands, by name; empty for one that has none."""
        actions = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001 — argparse has no other way
        return next((dict(action.choices) for action in actions), {})

    @property
    def flags(self) -> list[str]:
        """Its flags, as they are written."""
        return [flag for flag in self._option_string_actions if flag.startswith("--")]

    def add_subparsers(self, **settings: Any) -> Any:
        """The commands come before the flags in its help."""
        made = super().add_subparsers(title="commands", metavar="COMMAND", required=True, **settings)
        self._action_groups.insert(0, self._action_groups.pop())
        return made

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuses what it does not know itself, so that the error shows the usage of the right command."""
        parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            flag = next((word for word in rest if word.startswith("-")), None)
            if flag is not None and (gone := self._gone("flag", flag.partition("=")[0])):
                self.error(gone)
            message = f'unexpected argument "{rest[0]}"' if flag is None else self._unknown_flag(flag)
            self.error(message + self.after_unknown)
        return parsed, rest

    def _gone(self, kind: Kind, word: str) -> str:
        """What to use instead of a command or flag that there was; empty for any other word."""
        instead = instead_of(kind, f"{self.prog} {word}".removeprefix("am-proxy "))
        return instead and f"{word} is gone; {instead}"

    def _unknown_flag(self, word: str) -> str:
        from difflib import get_close_matches  # noqa: PLC0415 — for mistakes alone

        flag = word.partition("=")[0]
        names = {name[2:]: name for name in self.flags}
        if len(flag) == _SHORT:
            near = sorted((name for name in names if name[0] == flag[1]), key=len)[:1]
        else:
            near = get_close_matches(flag.lstrip("-"), names, n=1)
        if others := [name for name, other in self.siblings.items() if flag in other.flags]:
            return f"unknown flag {flag}: it is a flag of {_listing(others)}"
        return f"unknown flag {flag}" + (f" (did you mean {names[near[0]]}?)" if near else "")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        if not self.commands:
            message = self._gone("command", value)
            message = message or f'{action.metavar} must be one of {", ".join(choices)}, not "{value}"'
        elif "://" in value:
            message = f"an address is not a command (did you mean am-proxy serve --upstream {value}?)"
        elif not (message := self._gone("command", value)):
            meant = _ANOTHER_WORD.get(value)
            near = f" (did you mean {meant}?)" if meant in choices else did_you_mean(value, choices)
            message = f'unknown command "{value}"{near}'
        raise argparse.ArgumentError(None, message)

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except argparse.ArgumentError as error:
            if not action.option_strings:
                raise
            value = action.metavar or action.dest.upper()
            raise argparse.ArgumentError(None, f"{action.option_strings[0]} needs a value: {value}") from error

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and how it is used, and end the program with code 2."""
        if _NO_VALUE in message:
            flag = message.partition(_NO_VALUE)[0].removeprefix("argument ")
            message = f"{flag} takes no value"
        elif message.startswith(_MISSING):
            message = f"{message.removeprefix(_MISSING)} is missing"
        title = painted("error:", "bold", "red", colour=colour_wanted(sys.stderr))
        more = "lists the commands" if self.commands else "lists the flags"
        self.exit(2, f"{title} {message}\n\n{self.format_usage()}`{self.prog} --help` {more}.\n")


def _listing(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


class _AsWritten(argparse.RawDescriptionHelpFormatter):
    """A help formatter that keeps the line breaks of the examples, and lists commands without a title of their own."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26)

    def _iter_indented_subactions(self, action: argparse.Action) -> Generator[argparse.Action, None, None]:
        subactions: Iterable[argparse.Action] = getattr(action, "_get_subactions", tuple)()
        yield from subactions

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 — as above
            return text.partition("\n")[2]
        return text
