"""Why a cache missed, compared with what a cache like Anthropic's really read, over both ways to Claude."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

import httpx
import pytest

from app.settings import Model, Secret, Server, Settings, Upstream
from tests.support.cached_session import requests
from tests.support.providers import openai_is_here
from tests.support.serving import serving
from tests.wire.servers import KEY, AnthropicUpstream
from tests.wire.servers.anthropic import begins, ends, text
from tests.wire.servers.prompt_cache import PromptCache
from tests.wire.servers.steps import Ask, Json

CLAUDE: Final = "claude-sonnet-4-5"
WAYS: Final[list[Literal["messages", "litellm"]]] = ["messages", "litellm"]
TURN: Final = list(requests(8, 3))[-2:]
"""Two turns of a session, one after the other."""
RULES: Final[str] = TURN[1]["instructions"]
MIDDLE: Final = len(TURN[0]["input"]) // 2


def replaced(at: int, **fields: Any) -> list[Json]:
    """The items of the second turn, one of them with other fields."""
    items = list(TURN[1]["input"])
    items[at] = {**items[at], **fields}
    return items


def output_after(position: int) -> int:
    """The first output of a call from this item on."""
    items = TURN[1]["input"]
    return next(at for at in range(position, len(items)) if items[at]["type"] == "function_call_output")


@contextmanager
def claude(via: Literal["messages", "litellm"]) -> Iterator[str]:
    """A server before one that reads prompts from its cache and says how much that was."""
    cache = PromptCache()

    def answer(ask: Ask) -> list[Any]:
        use = cache.use(ask.body)
        read = {"cache_read_input_tokens": use.read, "cache_creation_input_tokens": use.written}
        return [*begins(input_tokens=use.other, **read), *text(0, "Hi."), *ends()]

    with openai_is_here("localhost"), AnthropicUpstream(answer) as upstream:
        upstream.counts = False
        settings = Settings(
            server=Server(watch=5),
            upstreams={
                "it": Upstream(
                    via=via,
                    provider="anthropic",
                    base_url=upstream.url.replace("127.0.0.1", "localhost"),
                    api_key=Secret(KEY),
                )
            },
            models={"m": Model(upstream="it", name=CLAUDE)},
        )
        with serving(settings) as url:
            yield url


def post(url: str, body: Json, **fields: Any) -> Json:
    answer = httpx.post(f"{url}/v1/responses", json={"model": "m", **body, **fields}, timeout=30)
    assert answer.status_code == 200, answer.text
    response: Json = answer.json()
    return response


CHANGES: Final[dict[str, tuple[Json, str | None]]] = {
    "more at the end": ({}, None),
    "the first tool": (
        {"tools": [{**TURN[1]["tools"][0], "description": "New."}, TURN[1]["tools"][1]]},
        "tools_changed",
    ),
    "the order of tools": ({"tools": TURN[1]["tools"][::-1]}, "tools_changed"),
    "the end of the system prompt": ({"instructions": f"{RULES[:-4]}Now."}, "input_changed"),
    "an output in the middle": ({"input": replaced(output_after(MIDDLE), output="Other.")}, "input_changed"),
    "the first message": ({"input": replaced(0, content="Repair nothing.")}, "input_changed"),
}


@pytest.mark.parametrize("via", WAYS)
@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES)
def test_the_cache_read_no_more_than_what_is_said_to_be_unchanged(
    via: Literal["messages", "litellm"], change: Json, reason: str | None
) -> None:
    with claude(via) as url:
        first = post(url, TURN[0])
        second = post(url, TURN[1] | change, prompt_cache_options={"comparison_response_id": first["id"]})
    found, usage = second["prompt_cache_diagnostics"], second["usage"]
    read, whole = usage["input_tokens_details"]["cached_tokens"], usage["input_tokens"]
    if reason is None:
        assert (found["type"], read) == ("cache_hit", first["usage"]["input_tokens"])
        return
    assert (found["type"], found["reason"]) == ("cache_miss", reason)
    unchanged = whole - found["cache_missed_tokens"]
    assert read <= unchanged + 0.05 * whole  # the one is counted, the other estimated from bytes
    assert 0 <= found["cache_missed_tokens"] <= whole
