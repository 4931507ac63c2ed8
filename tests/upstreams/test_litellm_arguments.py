"""No argument of litellm can be given by a client, by whatever name: what reaches it is on a list."""

import inspect
import json
import threading
from functools import cache
from typing import Any

import pytest

from app.parsing.unsupported import STEERING
from app.protocol.problems import Problem, ProblemError
from app.protocol.request.create_response import KNOWN
from app.upstreams import litellm_chat
from app.upstreams.litellm_ask import MANY, SETTINGS, arguments
from app.upstreams.litellm_chat import load
from app.upstreams.port import UpstreamRefused
from tests.support.chat_requests import ask
from tests.support.upstream_asks import answers, asks

POISON = "http://127.0.0.1:9/poison"
PROVIDERS = [None, "hosted_vllm", "openai", "azure", "anthropic", "gemini", "deepseek", "groq", "bedrock", "ollama"]
OURS = {
    *("model", "messages", "stream", "stream_options", "max_retries", "api_base", "custom_llm_provider"),
    *("drop_params", "extra_body"),
}
"""What is set here for every ask, and cannot be set by anybody else."""


@cache
def names() -> frozenset[str]:
    """Every argument that litellm knows by name."""
    litellm = load()
    signatures = [inspect.signature(call).parameters for call in (litellm.completion, litellm.acompletion)]
    found = {name for parameters in signatures for name in parameters}
    return frozenset(found | set(litellm.types.utils.all_litellm_params))


def asked_with(name: str) -> dict[str, Any] | Problem:
    """What is asked of a client who says so, or why they are refused."""
    fields: dict[str, Any] = {name: POISON}
    try:
        return ask(**fields).body
    except ProblemError as refusal:
        return refusal.problem


def test_litellm_knows_the_arguments_that_this_test_is_about() -> None:
    assert {"api_base", "fallbacks", "api_key", "extra_headers", "mock_response", "custom_llm_provider"} <= names()
    assert len(names()) > 200


def test_nothing_that_a_client_says_becomes_an_argument() -> None:
    refused = set()
    for name in sorted(names() - KNOWN):
        body = asked_with(name)
        if isinstance(body, Problem):
            assert body.param == name
            assert body.code in {"unknown_parameter", "unsupported_parameter"}
            refused.add(name)
        else:
            assert POISON not in json.dumps(body), name
    assert refused >= STEERING & names()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_nothing_that_an_ask_holds_becomes_an_argument_unless_it_is_listed(provider: str | None) -> None:
    """The second line, should something slip into an ask."""
    plain = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
    slipped = plain | dict.fromkeys(names() - plain.keys() - SETTINGS, POISON)
    given = arguments(provider, slipped, base_url=None)
    assert given.keys() <= OURS | SETTINGS
    assert given["api_base"] is None
    body = given.pop("extra_body", {})
    assert body.keys() <= {"messages", "stream", "stream_options", "metadata", "store"} | SETTINGS
    assert POISON not in json.dumps(given)


@pytest.mark.parametrize(("provider", "place"), [("openai", "extra_body"), ("azure", "extra_body"), ("gemini", None)])
def test_a_setting_that_litellm_forgets_is_sent_where_the_provider_takes_it(provider: str, place: str | None) -> None:
    ask = {"model": "m", "messages": [], "prompt_cache_retention": "24h"}
    given = arguments(provider, ask, base_url=None)
    assert (given if place is None else given[place])["prompt_cache_retention"] == "24h"
    assert place is None or "prompt_cache_retention" not in given


@pytest.mark.parametrize(
    ("held", "in_a_thread"),
    [
        ({}, False),
        ({"messages": [{"role": "user", "content": "a" * 1_000_000}]}, False),
        ({"messages": [{"role": "user", "content": "Hi"}] * MANY}, True),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}] * MANY}]}, True),
        ({"tools": [{"type": "function", "function": {"name": "f", "parameters": {"enum": ["a"] * MANY}}}]}, True),
    ],
    ids=["small", "one long text", "messages", "parts", "a tool"],
)
async def test_many_values_become_arguments_in_a_thread(
    monkeypatch: pytest.MonkeyPatch, held: dict[str, Any], *, in_a_thread: bool
) -> None:
    """They are copied one by one, which may take half a second. A body that is sent as it is is not copied."""
    load()
    seen: list[threading.Thread] = []

    def made(*_: Any, **__: Any) -> Any:
        seen.append(threading.current_thread())
        raise UpstreamRefused(Problem(code="upstream_error", message="Seen."))

    monkeypatch.setattr(litellm_chat, "arguments", made)
    for provider in ("anthropic", None):
        _, problem = await answers(litellm_chat.LitellmChat(provider), asks(provider, **held))
        assert problem == Problem(code="upstream_error", message="Seen.")
    assert [thread is not threading.main_thread() for thread in seen] == [in_a_thread, False]
