"""The parser of the command line. Each command is in the module of its name."""

import argparse
from collections.abc import Mapping, Sequence

from ..version import VERSION

_ABOUT = "AM Proxy gives any language model the OpenAI Responses API."

_EXAMPLES = """\
examples:
  am-proxy init               ask a few questions and write config.toml
  am-proxy serve              serve it, or without one the embedded model
  am-proxy check              print what is wrong with it, or the settings
  am-proxy check --probe      test which `via` suits each upstream
  am-proxy doctor             test each upstream step by step, with advice
  am-proxy keys create        make a key for a client

  am-proxy serve --config proxy.toml --port 9000
  am-proxy serve --upstream http://localhost:11434/v1
  am-proxy serve --upstream https://api.example.com/v1 \\
                 --upstream-key env:EXAMPLE_KEY

Flags override the environment (AM_PORT, AM_UPSTREAM, AM_KEY, ...), which
overrides config.toml, which overrides the defaults.
"""

_SHELL = 'bash, zsh: eval "$(am-proxy completion bash)"; fish: am-proxy completion fish | source'
_PROBE = (
    "send each upstream that has a base_url a few short requests (with --upstream: only that), and name its best `via`"
)


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command and its flags; None for a flag that was not given. Ends the program for --help and for misuse."""
    return build_parser()[0].parse_args(arguments)


def build_parser() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The whole command line, and each command by its name."""
    flags = _settings_flags()
    parser = argparse.ArgumentParser(
        prog="am-proxy", description=_ABOUT, epilog=_EXAMPLES, formatter_class=_AsWritten, allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"am-proxy {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, purpose: str, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            parents=parents,
            help=purpose,
            description=f"{purpose[0].upper()}{purpose[1:]}.",
            epilog=_EXAMPLES if parents else None,
            formatter_class=_AsWritten,
            allow_abbrev=False,
        )

    command("serve", "run the server", flags)
    check = command("check", "print every error of the configuration, or the resulting settings", flags)
    check.add_argument("--probe", action="store_true", help=_PROBE)
    doctor = command("doctor", "test each upstream step by step, with advice for the step that fails", flags)
    doctor.add_argument("names", metavar="UPSTREAM", nargs="*", help="test only these")
    init = command("init", "ask a few questions and write a first configuration")
    init.add_argument("--config", metavar="FILE", default="config.toml", help="file to write (default: config.toml)")
    keys = command("keys", "make a key for a client, and its [[keys]] table for config.toml")
    keys.add_argument("action", metavar="create", choices=["create"], help="print a new key; nothing is stored")
    keys.add_argument("--name", default="client", help="its name in the log (default: client)")
    keys.add_argument(
        "--models",
        nargs="+",
        default=["*"],
        metavar="PATTERN",
        help='models it may use, such as "gpt-*" (default: all)',
    )
    completion = command("completion", "print the script with which a shell completes commands and flags")
    completion.add_argument("shell", choices=["bash", "zsh", "fish"], help=_SHELL)
    return parser, commands.choices


class _AsWritten(argparse.RawDescriptionHelpFormatter):
    """A help formatter that keeps the line breaks of the examples."""


def _settings_flags() -> argparse.ArgumentParser:
    """The flags that every command which reads the configuration shares. Their names are those of `settings.load`."""
    flags = argparse.ArgumentParser(add_help=False)
    flags.add_argument("--config", metavar="FILE", help="the configuration (default: config.toml, if there is one)")
    flags.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    flags.add_argument("--port", help="port to listen on, 0 for any free one (default: 8080)")
    flags.add_argument("--upstream", metavar="URL", help="a chat-completions server that gets every model name")
    flags.add_argument("--via", metavar="VIA", help="how it is asked: litellm (default), chat or responses")
    flags.add_argument("--upstream-key", metavar="KEY", help="its key: env:NAME or file:PATH hides it from `ps`")
    flags.add_argument("--log-format", metavar="FORMAT", help="auto (default), text or json")
    flags.add_argument("--no-ui", dest="ui", action="store_false", default=None, help="no inspector at /")
    flags.add_argument("--watch", metavar="TURNS", help="how many of the last turns the inspector shows (default: 0)")
    flags.add_argument("--strict", action="store_true", default=None, help="answer with a 400 instead of a warning")
    flags.add_argument(
        "--insecure-no-auth",
        action="store_true",
        default=None,
        help="serve without keys, even on an address that others can reach",
    )
    return flags
