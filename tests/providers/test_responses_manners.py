"""What servers with the Responses API are sent, by what is known of their providers: hosted tools and efforts."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import httpx
import pytest

from app.settings import Model, Secret, Settings, Upstream
from tests.support.serving import serving
from tests.wire.script import text_turn
from tests.wire.servers import KEY, ChatUpstream, ResponsesUpstream, ScriptedUpstream
from tests.wire.servers.responses import answer, call, message

Json = dict[str, Any]

FUNCTION: Final[Json] = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {}}}
PATCH: Final = {"type": "custom", "name": "patch"}
HOSTED: Final = {
    "web_search": {"type": "web_search"},
    "mcp": {"type": "mcp", "server_label": "l", "server_url": "https://mcp.example"},
    "deepseek_web_search": {"type": "deepseek_web_search", "name": "deepseek_web_search"},
    "openrouter:datetime": {"type": "openrouter:datetime"},
}
RUN: Final[dict[str, tuple[Json, set[str]]]] = {
    "nothing known": ({"tools": "functions"}, set()),
    "as configured": ({"tools": "functions", "hosted_tools": ["web_search"]}, {"web_search"}),
    "openai": ({"tools": "functions", "provider": "openai"}, set(HOSTED)),
    "openrouter": ({"provider": "openrouter"}, {"web_search", "mcp", "openrouter:datetime"}),
    "lm_studio": ({"provider": "lm_studio"}, {"mcp"}),
    "deepseek": ({"provider": "deepseek"}, {"deepseek_web_search"}),
    "ollama": ({"provider": "ollama"}, set()),
    "ollama with a search": ({"provider": "ollama", "hosted_tools": ["web_search"]}, {"web_search"}),
    "vllm": ({"provider": "vllm"}, set()),
    "llama_cpp": ({"provider": "llama_cpp"}, set()),
}
"""By name, the settings of an upstream with the defaults of its provider, and the hosted tools that it is sent."""


@contextmanager
def posting(upstream: ScriptedUpstream, **settings: Any) -> Iterator[Any]:
    """A function that posts a body to AM Proxy before this upstream."""
    model = settings.pop("model", {})
    it = Upstream(**{"via": "responses", "base_url": upstream.url, "api_key": Secret(KEY), **settings})
    with ExitStack() as stack:
        models = {"m": Model(upstream="it", name="theirs", **model)}
        url = stack.enter_context(serving(Settings(upstreams={"it": it}, models=models)))
        client = stack.enter_context(httpx.Client(timeout=20))

        def post(**body: Any) -> tuple[httpx.Response, list[str], Json]:
            got = client.post(f"{url}/v1/responses", json={"model": "m", "input": "Hi", **body})
            return got, json.loads(got.headers.get("x-am-warnings", "[]")), upstream.asks[-1].body

        yield post


@pytest.mark.parametrize(("settings", "run"), RUN.values(), ids=RUN)
def test_hosted_tools_are_sent_to_a_server_that_may_run_them(settings: Json, run: set[str]) -> None:
    with ResponsesUpstream(answer(message("msg_1", "Hi"))) as upstream, posting(upstream, **settings) as post:
        got, warnings, asked = post(tools=[FUNCTION, *HOSTED.values()])
        assert got.status_code == 200
        assert asked["tools"][0]["name"] == "f"
        assert asked["tools"][1:] == [tool for kind, tool in HOSTED.items() if kind in run]
        left = {index: kind for index, kind in enumerate(HOSTED, start=1) if kind not in run}
        assert warnings == [
            f"tools[{index}] was left out: its type '{kind}' cannot be offered to this model."
            for index, kind in left.items()
        ]


@pytest.mark.parametrize(
    ("settings", "passes"),
    [
        ({"provider": "deepseek"}, True),
        ({"provider": "openrouter"}, True),
        ({"provider": "ollama", "hosted_tools": ["web_search"]}, True),
        ({"provider": "ollama"}, False),
        ({"tools": "functions"}, False),
    ],
)
def test_a_past_search_goes_back_to_a_server_that_searches(settings: Json, *, passes: bool) -> None:
    """DeepSeek wants it back unchanged, to restore what it found."""
    searched = {"type": "web_search_call", "id": "ws_AM-1", "action": {"type": "search", "query": "q"}}
    past = [{"role": "user", "content": "Hi"}, searched, {"role": "user", "content": "And?"}]
    with ResponsesUpstream(answer(message("msg_1", "Hi"))) as upstream, posting(upstream, **settings) as post:
        _, warnings, asked = post(input=past, tools=[FUNCTION])
    assert (asked["input"][1] == {**searched, "id": "ws_1"}) is passes
    assert len(warnings) == (not passes)


@pytest.mark.parametrize("provider", ["openrouter", "lm_studio", "transformers"])
def test_with_auto_these_servers_get_all_tools_of_a_client_as_functions(provider: str) -> None:
    """LM Studio refuses a choice by name, and transformers ignores it."""
    made = answer(call("fc_1", "call_1", "patch", '{"input": "*** Be', 'gin Patch"}'))
    choice = {"type": "custom", "name": "patch"}
    with ResponsesUpstream(made) as upstream, posting(upstream, provider=provider) as post:
        got, warnings, asked = post(tools=[PATCH, FUNCTION], tool_choice=choice)
        (item,) = got.json()["output"]
        assert (item["type"], item["name"], item["input"]) == ("custom_tool_call", "patch", "*** Begin Patch")
        assert warnings == []
        assert {tool["type"] for tool in asked["tools"]} == {"function"}
        by_name = {"type": "function", "name": "patch"}
        assert asked["tool_choice"] == (by_name if provider == "openrouter" else "required")
        output = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "Done."}
        past = [{"role": "user", "content": "Hi"}, item, output]
        got, _, asked = post(tools=[PATCH, FUNCTION], input=past)
        assert [each.get("type") for each in asked["input"]] == [None, "function_call", "function_call_output"]


EFFORTS: Final = {
    "minimal": ("none", "lowered"),
    "xhigh": ("high", "lowered"),
    "max": ("max", None),
    "none": ("none", None),
    "low": ("low", None),
}


@pytest.mark.parametrize("tools", ["auto", "native"])
@pytest.mark.parametrize(("effort", "expected"), EFFORTS.items())
def test_ollama_is_asked_for_an_effort_that_all_its_versions_take(
    effort: str, expected: tuple[str, str | None], tools: str
) -> None:
    sent, verb = expected
    with (
        ResponsesUpstream(answer(message("msg_1", "Hi"))) as upstream,
        posting(upstream, provider="ollama", tools=tools) as post,
    ):
        _, warnings, asked = post(reasoning={"effort": effort, "summary": "auto"})
    assert asked["reasoning"] == {"summary": "auto", "effort": sent}
    changed = f"'reasoning.effort' was {verb} from '{effort}' to '{sent}': this model does not know it."
    assert warnings == ([] if verb is None else [changed])


def test_an_effort_that_the_conversation_sets_is_changed_too() -> None:
    update = {"type": "configuration_update", "reasoning": {"effort": "xhigh"}}
    with ResponsesUpstream(answer(message("msg_1", "Hi"))) as upstream, posting(upstream, provider="ollama") as post:
        _, warnings, asked = post(input=[{"role": "user", "content": "Hi"}, update])
    assert asked["reasoning"] == {"effort": "high"}
    assert len(warnings) == 1


def test_the_efforts_of_a_model_are_those_of_its_configuration() -> None:
    model = {"reasoning_efforts": ["low"]}
    with ResponsesUpstream(answer(message("msg_1", "Hi"))) as upstream, posting(upstream, model=model) as post:
        _, warnings, asked = post(reasoning={"effort": "high"})
        assert asked["reasoning"] == {"effort": "low"}
        assert len(warnings) == 1
        _, warnings, asked = post(reasoning={"summary": "auto"})
        assert (asked["reasoning"], warnings) == ({"summary": "auto"}, [])


def test_ollama_is_asked_the_same_over_chat() -> None:
    with ChatUpstream(text_turn("Hi")) as upstream, posting(upstream, via="chat", provider="ollama") as post:
        _, warnings, asked = post(reasoning={"effort": "xhigh"})
    assert asked["reasoning_effort"] == "high"
    assert len(warnings) == 1
