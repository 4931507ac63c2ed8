"""The command line."""

import json
import secrets
import sys
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from ..settings.gone import instead_of
from ..settings.load import SettingsError, load, unknown_variables, usual_file
from ..settings.tables import KeySettings
from ..version import VERSION
from .advice import tell
from .upstream_flag import Looked, look

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
keys = typer.Typer(no_args_is_help=True, help="Make keys for clients.")
app.add_typer(keys, name="keys")

# the flags of several commands
Config = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The configuration (else am-proxy.toml, here or in ~/.config/am-proxy)."),
]
Upstream = Annotated[str | None, typer.Option(metavar="URL", help="The address of the server that runs your models.")]
UpstreamKey = Annotated[
    str | None, typer.Option(metavar="KEY", help="Its key; env:NAME or file:PATH hides it from `ps`.")
]
Via = Annotated[str | None, typer.Option(metavar="VIA", help="How it is asked: chat, messages, responses or litellm.")]
Provider = Annotated[
    str | None, typer.Option(metavar="NAME", help="A provider, such as groq; its key is in its usual variable.")
]


def read(context: typer.Context, *, within: float = 2) -> Looked:
    """The settings of this command's flags; or every mistake in them on stderr, and the end of the program with 2."""
    for note in unknown_variables():
        tell(f"note: {note}")
    try:
        return look(context.params["config"], context.params, within=within)
    except SettingsError as error:
        for mistake in str(error).splitlines():
            tell(mistake)
        raise typer.Exit(2) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"am-proxy {VERSION}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", "-V", metavar="", help="Print the version.", callback=_print_version)
    ] = False,
) -> None:
    """AM Proxy gives any language model the OpenAI Responses API.

    To begin: am-proxy serve --upstream http://localhost:11434
    """


@app.command()
def serve(
    context: typer.Context,
    config: Config = None,
    host: Annotated[str | None, typer.Option(help="The address to listen at (else 127.0.0.1).")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen at, 0 for any free one (else 8080).")] = None,
    workers: Annotated[
        str | None, typer.Option(metavar="COUNT", help="Processes that share the port; auto: one for each core.")
    ] = None,
    upstream: Upstream = None,
    upstream_key: UpstreamKey = None,
    via: Via = None,
    provider: Provider = None,
    strict: Annotated[
        bool | None, typer.Option("--strict", metavar="", help="Refuse what would cause a warning.")
    ] = None,
    log_level: Annotated[str | None, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")] = None,
    record: Annotated[str | None, typer.Option(metavar="DIR", help="Write every turn to this folder.")] = None,
    insecure_no_auth: Annotated[
        bool | None,
        typer.Option("--insecure-no-auth", metavar="", help="Serve without keys, even where others can call."),
    ] = None,
) -> None:
    """Run the server."""
    looked = read(context)
    from .serve import run  # what a server needs takes longer to import than a mistake to tell

    raise typer.Exit(run(looked, partial(load, config, looked.flags)))


@app.command()
def check(
    context: typer.Context,
    config: Config = None,
    upstream: Upstream = None,
    upstream_key: UpstreamKey = None,
    via: Via = None,
    provider: Provider = None,
) -> None:
    """Check the configuration: print every mistake in it, or the settings that hold."""
    from .check import show

    looked = read(context)
    show(looked.settings, context.params["config"] or usual_file())
    for remark, _ in looked.remarks:
        tell(remark)


@app.command()
def doctor(
    context: typer.Context,
    config: Config = None,
    upstream: Upstream = None,
    upstream_key: UpstreamKey = None,
    via: Via = None,
    provider: Provider = None,
) -> None:
    """Ask each upstream for its models, an answer and a call of a tool, and say what to do where that fails."""
    from .doctor import examine

    raise typer.Exit(examine(read(context, within=10)))


@app.command()
def launch(
    context: typer.Context,
    agent: Annotated[str, typer.Argument(metavar="codex", help="The agent.")],
    words: Annotated[list[str] | None, typer.Argument(metavar="-- WORDS", help="Its own arguments.")] = None,
    config: Config = None,
    upstream: Upstream = None,
    upstream_key: UpstreamKey = None,
    via: Via = None,
    provider: Provider = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model to start with (else the first that suits it).")
    ] = None,
    prints: Annotated[
        bool, typer.Option("--print", metavar="", help="Print a profile of Codex for a server that always runs.")
    ] = False,
) -> None:
    """Run Codex on your models, with a server of its own. None of Codex's files is changed."""
    if agent != "codex":
        raise typer.BadParameter(f"there is no agent {agent!r} here: am-proxy launch codex")
    from .launch import launch as run

    raise typer.Exit(run(read(context, within=5), model, words or [], prints=prints))


@keys.command()
def create(name: Annotated[str, typer.Argument(metavar="NAME", help="Its owner, as the log names them.")]) -> None:
    """Print a new key, and the table of the configuration that lets it in. Nothing is stored."""
    key = f"am-{secrets.token_urlsafe(32)}"  # so long that nobody finds it by its digest; scanners know the prefix
    try:
        table = KeySettings.model_validate({"name": name, "value": key})
    except ValidationError:
        raise typer.BadParameter(f"{name!r} cannot be the name of a key") from None
    print("The client's key, printed only once (`Authorization: Bearer <key>`):", key, sep="\n\n")
    print("\nIts table for am-proxy.toml:\n", "[[keys]]", f"name = {json.dumps(name, ensure_ascii=False)}", sep="\n")
    print(f'sha256 = "{table.sha256}"')


def _gone(words: list[str]) -> str:
    """What is said about a command or flag that there was; empty if there is none."""
    if "://" in "".join(words[:1]):
        return f"an address is no command: am-proxy serve --upstream {words[0]}"
    for place, word in enumerate(takewhile(lambda word: word != "--", words)):
        name = word.partition("=")[0]
        if instead := instead_of(f"{words[0]} {name}" if place else name):
            return f"{name} is gone; {instead}"
    return ""


def main() -> None:
    """Runs one command. Exits with 0, with 1 where it has failed, or with 2 for a mistake of the caller."""
    if said := _gone(sys.argv[1:]):
        tell(f"am-proxy: {said}")
        sys.exit(2)
    app(prog_name="am-proxy")
