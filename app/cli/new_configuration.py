"""The text of a first configuration: the upstream that was chosen, its models, and who may connect."""

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from ..options import Effort, KeyHeader, Via
from ..providers.provider import LEVELS
from ..upstreams.model_list import ListedModel
from .given_upstream import PATHS

MOST_TABLES: Final = 20
"""Models that get a table of their own."""
_COLUMN: Final = 31
"""Where the comments begin."""


class ChosenUpstream(NamedTuple):
    """The upstream that a configuration begins with."""

    name: str
    """The name of its table."""
    via: Via
    provider: str = ""
    base_url: str = ""
    """Empty: that of the provider."""
    api_key: str = ""
    """`env:NAME` or `file:PATH`."""
    models: tuple[ListedModel, ...] = ()
    """What its server lists."""
    only: str = ""
    """The model to serve; empty for all."""
    key_header: KeyHeader = "x-api-key"
    """The header with the key, with `via = "messages"`."""


def configuration(chosen: ChosenUpstream, *, digest: str = "") -> str:
    """The whole file. With the digest of a key, other machines may connect."""
    return "\n".join([*_head(digest), *_upstream(chosen), *_models(chosen)]) + "\n"


def _head(digest: str) -> Iterator[str]:
    yield "# AM Proxy's configuration. `am-proxy check` finds errors in it, `am-proxy doctor`"
    yield "# tests the upstreams. docs/configuration.md describes every setting."
    yield ""
    yield "[server]"
    yield _with(
        'host = "0.0.0.0"' if digest else 'host = "127.0.0.1"', "every address" if digest else "this machine only"
    )
    yield "port = 8080"
    if digest:
        yield ""
        yield _with("[[keys]]", "clients send it as `Authorization: Bearer …`")
        yield 'name = "first"'
        yield f'sha256 = "{digest}"'


def _upstream(chosen: ChosenUpstream) -> Iterator[str]:
    yield ""
    yield f"[upstreams.{chosen.name}]"
    yield _with(f'via = "{chosen.via}"', _about(chosen.via))
    if chosen.provider:
        about = "as litellm calls it" if chosen.via == "litellm" else "see docs/providers.md"
        yield _with(f'provider = "{chosen.provider}"', about)
    if chosen.base_url:
        yield f"base_url = {_quoted(chosen.base_url)}"
    if chosen.api_key:
        yield f"api_key = {_quoted(chosen.api_key)}"
    if chosen.key_header != "x-api-key":
        yield _with(f'key_header = "{chosen.key_header}"', "it refuses the key in x-api-key")


def _about(via: Via) -> str:
    if via == "demo":
        return "inside this server, scripted: no key, no network"
    return "asked through litellm" if via == "litellm" else f"asked by {PATHS.get(via, f'/{via}')}"


def _models(chosen: ChosenUpstream) -> Iterator[str]:
    to_it = f'upstream = "{chosen.name}"'
    if only := "demo" if chosen.via == "demo" else chosen.only:
        yield from ("", f"[models.{_quoted(only)}]", to_it)
        return
    tables = [(model, lines) for model in chosen.models if (lines := list(_facts(model)))]
    for model, lines in tables[:MOST_TABLES]:
        yield from ("", f"[models.{_quoted(model.name)}]", to_it, *lines)
    yield ""
    yield _with('[models."*"]', f"{'any other' if tables else 'every'} name is passed on unchanged")
    yield to_it


def _facts(model: ListedModel) -> Iterator[str]:
    """What is known about a model."""
    if model.context_window:
        yield _with(f"context_window = {model.context_window}", "tokens")
    if efforts := efforts_of(model):
        yield f"reasoning_efforts = [{', '.join(map(_quoted, efforts))}]"
    if model.thinks is False:
        yield _with("can.reasoning = false", "an effort is not sent")
    if model.takes_images is not None:
        yield f"can.vision = {str(model.takes_images).lower()}"
    if model.calls_tools is False:
        yield _with("can.tools = false", "no coding agent can use it")


def efforts_of(model: ListedModel) -> tuple[Effort, ...]:
    """The efforts that a model supports, where that is known."""
    if "gpt-oss" in model.name:
        return LEVELS
    return ("none", *LEVELS) if model.thinks else ()


def _with(line: str, comment: str) -> str:
    return f"{line:<{_COLUMN - 1}} # {comment}"


def _quoted(text: str) -> str:
    """A text as TOML writes it, which is as JSON does."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
