"""docs/providers.md: each command leads where the page says, and each provider has one."""

import asyncio
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import httpx
import pytest

from app.__main__ import main
from app.cli.given_upstream import settled
from app.cli.parser import parse
from app.providers.lookup import BY_NAME, PROVIDERS
from app.settings import GIVEN, load
from app.upstreams.litellm_chat import load as load_litellm
from tests.support.providers import changed
from tests.support.running import ROOT
from tests.support.serving import serving
from tests.wire.script import says, stops
from tests.wire.servers import AnthropicUpstream, ChatUpstream, ResponsesUpstream, ScriptedUpstream
from tests.wire.servers import anthropic as claude
from tests.wire.servers.responses import answer as response
from tests.wire.servers.responses import message

PAGE: Final = (ROOT / "docs" / "providers.md").read_text()
KEY: Final = "a-key-of-nobody"


class Recipe(NamedTuple):
    """One row of the tables of commands."""

    command: str
    variable: str
    via: str
    model: str

    @property
    def flags(self) -> list[str]:
        """After `am-proxy serve`."""
        return shlex.split(self.command)[2:]

    @property
    def provider(self) -> str:
        """The value of `--provider`, if it is given."""
        return _provider(self.command)


@cache
def _provider(command: str) -> str:
    """What the command line makes of a command."""
    return str(parse(shlex.split(command)[1:]).provider or "")


def recipes() -> Iterator[Recipe]:
    """The rows of both tables: of providers, and of servers without a key."""
    chapter = PAGE.partition("## One command each\n")[2].partition("\n## ")[0]
    for block in re.findall(r"^```\n(am-proxy serve .*?)\n```$", PAGE, re.MULTILINE | re.DOTALL):
        command = block.replace("\\\n", " ")
        flags = parse(shlex.split(command)[1:])
        yield Recipe(command, flags.upstream_key.removeprefix("env:"), flags.via, "")
    for cells in re.findall(r"^\| .* \|$", chapter, re.MULTILINE):
        _, command, *others = (cell.strip() for cell in cells.strip("|").split(" | "))
        if command.startswith("`"):
            *variable, via, model = (cell.strip("`") for cell in others)
            yield Recipe(command.strip("`"), "".join(variable), via, model)


RECIPES: Final = list(recipes())


def ids(recipe: Recipe) -> str:
    """The id of a case."""
    return recipe.provider or recipe.flags[1]


every = pytest.mark.parametrize("recipe", RECIPES, ids=ids)


@every
def test_check_accepts_the_command_with_the_key_alone(
    recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for known in PROVIDERS:
        if known.key_variable:
            monkeypatch.delenv(known.key_variable, raising=False)
    if named := re.search(r"env:(\w+)", recipe.command):
        monkeypatch.setenv(named[1], KEY)
    if recipe.variable.isupper():
        monkeypatch.setenv(recipe.variable, KEY)
    monkeypatch.chdir(tmp_path)
    assert main(["check", *recipe.flags]) == 0, capsys.readouterr().err


@every
def test_the_command_leads_to_the_address_of_the_provider_in_the_way_that_the_row_says(
    recipe: Recipe, tmp_path: Path
) -> None:
    flags = vars(parse(["serve", *recipe.flags]))
    named = re.search(r"env:(\w+)", recipe.command)
    environ = dict.fromkeys([named[1]] if named else [], KEY)
    if recipe.variable.isupper():
        environ[recipe.variable] = KEY
    upstream = load(flags, environ, tmp_path).upstreams[GIVEN]
    if not recipe.provider:
        assert upstream.base_url == flags["upstream"]
        assert recipe.via in (flags["via"], "the one that suits it")
        return
    known = BY_NAME[recipe.provider]
    assert upstream.via == recipe.via
    assert recipe.variable == (known.key_variable or recipe.variable)
    assert bool(upstream.api_key) == bool(known.key_variable)
    if recipe.via != "litellm":
        assert upstream.base_url == known.address_for(recipe.via) or known.at_any_address


ANSWERING: Final = [each for each in RECIPES if each.via != "litellm"]
"""Those that litellm need not translate: tests/wires sends requests to scripted servers of the others."""


def scripted(recipe: Recipe) -> ScriptedUpstream:
    """A server that says "Hello" in the API that the provider is called by."""
    if recipe.via == "responses":
        return ResponsesUpstream(response(message("msg_1", "Hello")))
    if recipe.via == "messages":
        return AnthropicUpstream([*claude.begins(), *claude.text(0, "Hello"), *claude.ends()])
    server = ChatUpstream([says("Hello"), stops()])
    server.speaks_whole = True  # Mistral is sent no `stream_options`
    return server


@pytest.mark.parametrize("recipe", ANSWERING, ids=ids)
def test_the_command_gets_an_answer_from_a_server_that_is_scripted(recipe: Recipe, tmp_path: Path) -> None:
    """It stands at the address of the provider, or at the one of the command."""
    server = scripted(recipe)
    with server:
        server.may_violate = True  # some providers expect another body
        flags = vars(parse(["serve", *recipe.flags]))
        flags["upstream"] = flags["upstream"] and server.url
        environ = {recipe.variable: KEY} if recipe.variable.isupper() else {}
        name = recipe.provider or "openai"
        addresses = [field for field in ("base_url", "messages_url") if getattr(BY_NAME[name], field)]
        with changed(name, **dict.fromkeys(addresses, server.url)):
            settings, _ = asyncio.run(settled(load(flags, environ, tmp_path)))
            with serving(settings) as url:
                body = {"model": recipe.model or "m", "input": "Hi"}
                answer = httpx.post(f"{url}/v1/responses", json=body, timeout=20)
    assert answer.status_code == 200, answer.text
    assert answer.json()["output"][-1]["content"][0]["text"] == "Hello"
    headers = server.asks[-1].headers
    key = headers.get("authorization", "").removeprefix("Bearer ") or headers.get("x-api-key", "")
    assert key == (KEY if recipe.variable else key)


def test_no_key_of_another_row_is_needed() -> None:
    variables = [each.variable for each in RECIPES if each.variable.isupper()]
    assert len(variables) == len(set(variables)) > 20


UNDER_OTHER_NAMES: Final = {
    "azure": "the address of its Responses API",
    "bedrock_mantle": "bedrock",
    "hosted_vllm": "vllm",
    "llamafile": "llama_cpp",
    "ollama_chat": "ollama",
    "sagemaker_nova": "sagemaker",
    "github_copilot": "its own login, which litellm does with a browser",
}
"""Providers that the page does not name, and what to choose instead."""


def test_each_provider_that_has_a_file_can_be_chosen_on_the_page() -> None:
    named = {each.provider for each in RECIPES} | set(re.findall(r"`([a-z0-9_]+)`", PAGE))
    missing = [each.name for each in PROVIDERS if not {each.name, *each.aliases} & named]
    assert sorted(missing) == sorted(UNDER_OTHER_NAMES)


@every
def test_the_model_is_one_of_those_that_litellm_lists_for_the_provider(recipe: Recipe) -> None:
    """An update of litellm shows which names are out of date."""
    known = BY_NAME.get(recipe.provider)
    if known is None or not (known.key_variable or known.litellm.own_credentials):
        return
    models = load_litellm().model_cost
    listed = {name for name, facts in models.items() if _is_of(known.name, facts.get("litellm_provider", ""))}
    if len(listed) > FEW:
        names = listed & {recipe.model, f"{known.name}/{recipe.model}"}
        assert names
        assert all(models[name].get("deprecation_date", "9999") > "2026-12" for name in names)


def _is_of(name: str, listed_as: str) -> bool:
    return re.fullmatch(rf"{name}(_chat|_converse|-.*)?", listed_as) is not None


FEW: Final = 5
"""A list of so many models is not that of a provider's own models for chat."""
