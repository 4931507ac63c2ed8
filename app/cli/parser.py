"""Which commands and flags there are. What they mean is in each command's own file."""

import argparse
from collections.abc import Mapping, Sequence

from app.version import VERSION

_ABOUT = "AM Proxy gives any language model the OpenAI Responses API."

_EXAMPLES = """\
examples:
  am-proxy serve                                        the embedded model `demo` on http://127.0.0.1:8080/v1
  am-proxy serve --upstream http://localhost:11434/v1   any chat-completions server, every model name passed on
  am-proxy serve --upstream https://api.example.com/v1 --upstream-key env:EXAMPLE_KEY
  am-proxy serve --config proxy.toml --port 9000
  am-proxy check --config proxy.toml                    say what is wrong with it, or what it comes to
  am-proxy keys create --name alice                     a key for a client, and its digest for the configuration
  am-proxy check --probe                                ask the upstreams themselves, and say which lane suits each
  am-proxy doctor                                       look at the upstreams step by step, with advice
  am-proxy init                                         write a first config.toml

Settings come from flags, then the environment (AM_PORT, AM_UPSTREAM, AM_KEY, ...), then config.toml, then defaults.
"""

_SHELL = 'bash, zsh: eval "$(am-proxy completion bash)"; fish: am-proxy completion fish | source'
_PROBE = "ask every upstream that has a base_url a word or two (of --upstream: only that), and say which lane suits it"


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
    check = command(
        "check", "read the configuration, say what is wrong with it or what it comes to; no server is started", flags
    )
    check.add_argument("--probe", action="store_true", help=_PROBE)
    doctor = command("doctor", "look at every upstream step by step, and say what to do where one does not work", flags)
    doctor.add_argument("names", metavar="UPSTREAM", nargs="*", help="look at these alone")
    init = command("init", "ask a few questions and write a configuration with comments")
    init.add_argument("--config", metavar="FILE", default="config.toml", help="where to (default: config.toml)")
    keys = command("keys", "make a key for a client, and the [[keys]] table with its digest for config.toml")
    keys.add_argument("action", metavar="create", choices=["create"], help="show a new key, once; nothing is written")
    keys.add_argument("--name", default="client", help="what the log calls whoever has it (default: client)")
    keys.add_argument(
        "--models", nargs="+", default=["*"], metavar="PATTERN", help='public names it may use, "gpt-*" (default: all)'
    )
    completion = command("completion", "print the script with which a shell completes commands and flags")
    completion.add_argument("shell", choices=["bash", "zsh", "fish"], help=_SHELL)
    return parser, commands.choices


class _AsWritten(argparse.RawDescriptionHelpFormatter):
    """Keeps the examples' line breaks."""


def _settings_flags() -> argparse.ArgumentParser:
    """The flags that every command which reads the configuration shares. Their names are those of `settings.load`."""
    flags = argparse.ArgumentParser(add_help=False)
    flags.add_argument("--config", metavar="FILE", help="the configuration (default: config.toml, if it is here)")
    flags.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    flags.add_argument("--port", help="port to listen on, 0 for any free one (default: 8080)")
    flags.add_argument("--upstream", metavar="URL", help="a chat-completions server, given every model name as it is")
    flags.add_argument("--via", metavar="LANE", help="how it is spoken to: litellm (default), chat or responses")
    flags.add_argument("--upstream-key", metavar="KEY", help="its key: env:NAME or file:PATH, which `ps` does not show")
    flags.add_argument("--log-format", metavar="FORMAT", help="auto (default), text or json")
    flags.add_argument("--no-ui", dest="ui", action="store_false", default=None, help="no inspector at /")
    flags.add_argument("--watch", metavar="TURNS", help="let the inspector show so many of the last turns (default: 0)")
    flags.add_argument("--strict", action="store_true", default=None, help="every warning is a 400")
    flags.add_argument(
        "--insecure-no-auth",
        action="store_true",
        default=None,
        help="let everybody in, without a key, on an address that others can reach",
    )
    return flags
