"""The command line. Each command is in the module of its name."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any, Final

from ..settings import FILE
from ..version import VERSION
from .agents import AGENTS
from .command_parser import CommandParser

_ABOUT: Final = "AM Proxy gives any language model the OpenAI Responses API."
_TOP: Final = (
    "am-proxy serve                  # a scripted model, to try it out",
    "am-proxy serve --upstream http://localhost:11434/v1",
    "am-proxy help serve             # the flags of a command",
)
_SERVE: Final = (
    "am-proxy serve --config proxy.toml --port 9000",
    "am-proxy serve --provider groq          # its key is in GROQ_API_KEY",
    "am-proxy serve --upstream https://api.example.com/v1 \\",
    "               --upstream-key env:EXAMPLE_KEY",
    "",
    "Flags override the environment (AM_PORT, AM_UPSTREAM, AM_KEY, ...), which",
    "overrides the configuration file, which overrides the defaults.",
)
_CHECK: Final = (
    "am-proxy check              # every error, or the settings you made",
    "am-proxy check --all        # also those with their default values",
)
_DOCTOR: Final = (
    "am-proxy doctor             # every upstream of the configuration",
    "am-proxy doctor --upstream http://localhost:11434/v1",
)
_LAUNCH: Final = (
    "am-proxy launch codex --upstream http://localhost:11434/v1",
    "am-proxy launch codex --model qwen3 -- exec 'fix the tests'",
)
_KEYS: Final = ('am-proxy keys create --name alice --models "gpt-*" demo',)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command and its flags; None for a flag that was not given. Ends the program for --help and for misuse."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = build_parser()
    if words in ([], ["keys"]):  # a command is missing
        (parser.commands["keys"] if words else parser).print_help(sys.stderr)
        parser.exit(2)
    flag = words[0].partition("=")[0]
    if flag.startswith("-") and flag not in {"-h", "--help", "-V", "--version"}:
        late = flag in parser.commands["serve"].flags
        parser.error(f"a command comes first: am-proxy serve {flag} …" if late else f"unknown flag {flag}")
    if words[0] == "help":
        _help(parser, words[1:])
    if words == ["version"]:
        words = ["--version"]
    rest: list[str] = []
    if words[0] == "launch" and "--" in words:
        cut = words.index("--")
        words, rest = words[:cut], words[cut + 1 :]
    parsed = parser.parse_args(words)
    if parsed.command == "launch":
        parsed.arguments = rest
    return parsed


def build_parser() -> CommandParser:
    """The whole command line."""
    parser = CommandParser(usage="COMMAND [FLAGS]", examples=_TOP, prog="am-proxy", description=_ABOUT)
    parser.add_argument("-V", "--version", action="version", version=f"am-proxy {VERSION}", help="print the version")
    commands = parser.add_subparsers(dest="command")

    def command(name: str, purpose: str, *, usage: str = "", examples: Sequence[str] = ()) -> CommandParser:
        return _command(commands, name, purpose, usage=usage or f"{name} [FLAGS]", examples=examples)

    serve = command("serve", "run the server", examples=_SERVE)
    _add_source_flags(serve)
    _add_server_flags(serve)
    check = command("check", "report errors in the configuration, or show the settings", examples=_CHECK)
    check.add_argument("--all", action="store_true", help="show settings that have their default values too")
    _add_source_flags(check)
    _add_server_flags(check)
    doctor = command(
        "doctor",
        "test the upstreams, with advice on what fails",
        usage="doctor [FLAGS] [UPSTREAM ...]",
        examples=_DOCTOR,
    )
    doctor.add_argument("names", metavar="UPSTREAM", nargs="*", help="test only these upstreams of the configuration")
    _add_source_flags(doctor)
    launch = command(
        "launch",
        "run a coding agent on your own models, without changing its files",
        usage="launch AGENT [FLAGS] [-- ARGUMENT ...]",
        examples=_LAUNCH,
    )
    _add_launch(launch)
    _add_keys(command("keys", "create keys for clients", usage="keys COMMAND"))
    help_ = command("help", "print this help, or that of a command", usage="help [COMMAND]")
    help_.add_argument("topic", metavar="COMMAND", nargs="*", help="the command to describe")
    command("version", "print the version", usage="version")
    return parser


def _command(commands: Any, name: str, purpose: str, *, usage: str, examples: Sequence[str]) -> CommandParser:
    made: CommandParser = commands.add_parser(
        name,
        prog=" ".join(["am-proxy", *usage.split()[: usage.split().index(name) + 1]]),
        help=purpose,
        description=f"{purpose[0].upper()}{purpose[1:]}.",
        usage=usage,
        examples=examples,
    )
    made.siblings = commands.choices
    return made


def _help(parser: CommandParser, topic: Sequence[str]) -> None:
    """Print the help of a command, and end the program. A word that is no command is an error."""
    if any(word.startswith("-") for word in topic):
        return
    for word in topic:
        if word not in parser.commands:
            if parser.commands:
                parser.parse_args([word])
            parser.error(f'unexpected argument "{word}"')
        parser = parser.commands[word]
    parser.print_help()
    parser.exit()


def _add_keys(keys: CommandParser) -> None:
    actions = keys.add_subparsers(dest="action")
    create = _command(
        actions,
        "create",
        "print a new key and its [[keys]] table",
        usage="keys create [--name NAME] [--models PATTERN ...]",
        examples=_KEYS,
    )
    create.add_argument("--name", default="client", help="its name in the log (default: client)")
    create.add_argument(
        "--models",
        nargs="+",
        default=["*"],
        metavar="PATTERN",
        help='models it may use, such as "gpt-*" (default: all)',
    )


def _add_launch(launch: CommandParser) -> None:
    launch.after_unknown = "; arguments of the agent come after --"
    launch.add_argument("agent", metavar="AGENT", choices=list(AGENTS), help=" or ".join(AGENTS))
    launch.add_argument("--model", help="model to start with (default: the first that suits the agent)")
    launch.add_argument("--port", help="port of its server, which may run there already (default: any free one)")
    launch.add_argument("--print", action="store_true", help="only print a profile for the agent, to save and use")
    _add_source_flags(launch)


def _add_source_flags(parser: CommandParser) -> None:
    """The flags that say which configuration and which upstream. Their names are those of `settings.load`."""
    add = parser.add_argument
    add("--config", metavar="FILE", help=f"the configuration (default: {FILE}, here or in ~/.config/am-proxy)")
    add("--upstream", metavar="URL", help="address of the server that runs your models")
    add("--provider", metavar="NAME", help="a provider by its name, such as groq; its key is in its usual variable")
    add("--via", metavar="VIA", help="API to use: chat, responses, messages, litellm (default: what suits the server)")
    add("--upstream-key", metavar="KEY", help="its key: env:NAME or file:PATH hides it from `ps`")


def _add_server_flags(parser: CommandParser) -> None:
    """The flags of the server itself, named as above."""
    add = parser.add_argument
    add("--host", help="address to listen on (default: 127.0.0.1)")
    add("--port", help="port to listen on, 0 for any free one (default: 8080)")
    add("--workers", metavar="COUNT", help="processes that share the port; auto: one for each core (default: 1)")
    add("--log-format", metavar="FORMAT", help="auto (default), text or json")
    add("--no-ui", dest="ui", action="store_false", default=None, help="no inspector at /")
    add("--watch", metavar="COUNT", help="number of recent requests the inspector keeps (default: 1000 on loopback)")
    add("--record", metavar="DIR", help="record every turn in this folder: prompts and answers, without keys")
    add("--strict", action="store_true", default=None, help="answer with a 400 instead of a warning")
    add(
        "--insecure-no-auth",
        action="store_true",
        default=None,
        help="serve without keys, even on an address that others can reach",
    )
