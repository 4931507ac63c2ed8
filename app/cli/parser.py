"""Which commands and flags there are. What they mean is in each command's own file."""

import argparse
from collections.abc import Sequence

from app.version import VERSION

_ABOUT = "AM Proxy gives any language model the OpenAI Responses API."

_EXAMPLES = """\
examples:
  am-proxy serve                                        the embedded model `demo` on http://127.0.0.1:8080/v1
  am-proxy serve --upstream http://localhost:11434/v1   any chat-completions server, every model name passed on
  am-proxy serve --upstream https://api.example.com/v1 --upstream-key env:EXAMPLE_KEY
  am-proxy serve --config proxy.toml --port 9000
  am-proxy check --config proxy.toml                    say what is wrong with it, or what it comes to
  am-proxy check --probe                                ask the upstreams themselves, and say which lane suits each

Settings come from flags, then the environment (AM_PORT, AM_UPSTREAM, AM_KEY, ...), then config.toml, then defaults.
"""

_PROBE = "ask every upstream that has a base_url a word or two (of --upstream: only that), and say which lane suits it"


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command and its flags; None for a flag that was not given. Ends the program for --help and for misuse."""
    flags = _settings_flags()
    parser = argparse.ArgumentParser(
        prog="am-proxy", description=_ABOUT, epilog=_EXAMPLES, formatter_class=_AsWritten, allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"am-proxy {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, purpose in (
        ("serve", "run the server"),
        ("check", "read the configuration, say what is wrong with it or what it comes to; no server is started"),
    ):
        command = commands.add_parser(
            name,
            parents=[flags],
            help=purpose,
            description=f"{purpose.capitalize()}.",
            epilog=_EXAMPLES,
            formatter_class=_AsWritten,
            allow_abbrev=False,
        )
        if name == "check":
            command.add_argument("--probe", action="store_true", help=_PROBE)
    return parser.parse_args(arguments)


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
