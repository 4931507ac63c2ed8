"""The command line."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ..settings.load import SettingsError, load
from ..version import VERSION

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def about() -> None:
    """AM Proxy: the Responses API for any model."""


@app.command()
def serve(
    config: Annotated[Path | None, typer.Option(help="A configuration file.")] = None,
    host: Annotated[str | None, typer.Option(help="The address to listen at.")] = None,
    port: Annotated[int | None, typer.Option(help="The port to listen at.")] = None,
    upstream: Annotated[str | None, typer.Option(help="The address of a model server.")] = None,
    upstream_key: Annotated[str | None, typer.Option(help="Its key; better env:NAME or file:PATH.")] = None,
    via: Annotated[str | None, typer.Option(help="How it is asked: chat, messages, responses or litellm.")] = None,
    provider: Annotated[str | None, typer.Option(help="A provider, such as openai, instead of an address.")] = None,
    *,
    strict: Annotated[bool | None, typer.Option(help="Refuse what would cause a warning.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    insecure_no_auth: Annotated[
        bool | None, typer.Option(help="Serve without keys, even where others can call.")
    ] = None,
) -> None:
    """Serve."""
    from .serve import run

    server = {"host": host, "port": port, "strict": strict, "log_level": log_level}
    server["insecure_no_auth"] = insecure_no_auth
    flags = {**server, "upstream": upstream, "upstream_key": upstream_key, "via": via, "provider": provider}
    try:
        settings = load(config, flags)
    except SettingsError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(2) from None
    run(settings)


@app.command()
def version() -> None:
    """Print the version."""
    print(VERSION)
