"""Claude's thoughts keep their order through a summary, and through a fallback to a chat server and back.

The scripted server refuses every thought that comes back altered, or elsewhere than it was said.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import httpx
import pytest
from openai import OpenAI

from tests.support.demo_behaviours import WEATHER
from tests.support.tool_loops import Json, Loop
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.servers import (
    KEY,
    Answer,
    AnthropicUpstream,
    Calls,
    DeepSeekUpstream,
    Hides,
    Says,
    Status,
    Thinks,
)

VERSIONS: Final = ("claude-sonnet-4-5", "claude-sonnet-4-6", "claude-opus-5")
"""One that thinks with a budget, one that thinks as needed if asked, and one that thinks unasked."""
BEGINS: Final[Answer] = [
    Thinks("Rome first."),
    Says("I look."),
    Thinks("And Oslo."),
    Hides("Secret."),
    Calls("get_weather", '{"city": "Rome"}'),
    Thinks("Now Oslo."),
    Calls("get_weather", '{"city": "Oslo"}'),
]
ELSEWHERE: Final[Answer] = [Thinks("And Bonn?"), Calls("get_weather", '{"city": "Bonn"}')]
GOES_ON: Final[Answer] = [
    Thinks("Once more."),
    Hides("Secret, too."),
    Calls("get_weather", '{"city": "Paris"}'),
]
ENDS: Final[Answer] = [Thinks("All fine."), Says("It is fine.")]
AGAIN: Final[Answer] = [Says("You are welcome.")]
BUSY: Final = [Status(529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})]
ROME: Final[Json] = {"role": "user", "content": "Rome and Oslo?"}


class Served(NamedTuple):
    """A client of a server with every Claude, alone or with a chat server that is asked where it does not answer."""

    client: OpenAI
    claude: AnthropicUpstream
    chat: DeepSeekUpstream


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with AnthropicUpstream() as claude, DeepSeekUpstream() as chat:
        shared = {"api_key": KEY, "retries": 0, "breaker_failures": 0}
        upstreams = {
            "claude": Upstream(via="messages", provider="anthropic", base_url=claude.url, **shared),
            "chat": Upstream(via="chat", provider="deepseek", base_url=chat.url, **shared),
        }
        models = {version: Model(upstream="claude", name=version) for version in VERSIONS}
        models |= {
            f"{version}, or chat": Model(
                upstreams=["claude", "chat"], names={"claude": version, "chat": DeepSeekUpstream.model}
            )
            for version in VERSIONS
        }
        with (
            serving(Settings(upstreams=upstreams, models=models)) as url,
            OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client,
        ):
            yield Served(client, claude, chat)


def plain(items: list[Any]) -> list[Json]:
    """These items as a client posts them."""
    return [item if isinstance(item, dict) else item.model_dump(exclude_none=True) for item in items]


def said_by_claude(wire: AnthropicUpstream, ask: int) -> list[Json]:
    """The blocks of the assistant in this request, without marks."""
    return [
        {key: value for key, value in block.items() if key != "cache_control"}
        for message in wire.asks[ask].body["messages"]
        for block in message["content"]
        if message["role"] == "assistant"
    ]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("version", VERSIONS)
def test_thoughts_keep_their_order_through_a_fallback_and_back(served: Served, version: str, *, stream: bool) -> None:
    """The chat server answers in the middle of the loop, and Claude goes on with it."""
    client, claude, chat = served
    chat.say(ELSEWHERE)
    claude.say(BEGINS, [], GOES_ON, ENDS, AGAIN)
    claude.scripts = (claude.scripts[0], BUSY, *claude.scripts[2:])
    loop = Loop(client, f"{version}, or chat", [], stream)
    first = loop.ask(ROME)
    second = loop.ask(*loop.run(first))
    third = loop.ask(*loop.run(second))
    assert loop.ask(*loop.run(third)).output_text == "It is fine."
    assert loop.ask({"role": "user", "content": "Thanks."}).output_text == "You are welcome."
    assert (len(claude.asks), len(chat.asks), claude.violations, chat.violations) == (5, 1, [], [])
    first_said, *_ = claude.said
    third_ask = said_by_claude(claude, 2)
    assert third_ask[: len(first_said)] == first_said
    assert [block["type"] for block in third_ask[len(first_said) :]] == ["tool_use"], "the call of the other model"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_loop_that_began_at_a_chat_server_goes_on_with_thoughts_of_claude(served: Served, version: str) -> None:
    client, claude, chat = served
    chat.say(ELSEWHERE)
    claude.say([], GOES_ON if version != VERSIONS[0] else GOES_ON[2:], ENDS)
    claude.scripts = (BUSY, *claude.scripts[1:])
    loop = Loop(client, f"{version}, or chat", [])
    first = loop.ask(ROME)
    second = loop.ask(*loop.run(first))
    assert loop.ask(*loop.run(second)).output_text == "It is fine."
    assert (len(claude.asks), len(chat.asks), claude.violations, chat.violations) == (3, 1, [], [])
    own = claude.said[0]
    assert said_by_claude(claude, 2)[-len(own) :] == own


@pytest.mark.parametrize("version", VERSIONS)
def test_thoughts_keep_their_order_through_a_summary_in_the_middle_of_a_loop(served: Served, version: str) -> None:
    """`context_management` keeps the last step unchanged: the calls of Claude, and the thoughts that led to them."""
    client, claude, _ = served
    claude.say(BEGINS, [Thinks("Sum up."), Says("The user asks.")], GOES_ON, ENDS)
    asking: Json = {
        "model": version,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low"},
    }
    loop = Loop(client, version, [])
    first = loop.ask({"role": "user", "content": "Hi"}, {"role": "assistant", "content": "word " * 4_000}, ROME)
    loop.history.extend(loop.run(first))
    managed = client.responses.create(
        **asking,
        input=list(loop.history),
        tools=[WEATHER],  # type: ignore[list-item]
        context_management=[{"type": "compaction", "compact_threshold": 2_000}],
    )
    assert [item.type for item in managed.output] == ["compaction", "reasoning", "reasoning", "function_call"]
    assert claude.violations == []
    [*_, last_said] = claude.said
    assert said_by_claude(claude, 2) == claude.said[0]
    loop.history[:] = managed.output
    assert loop.ask(*loop.run(managed)).output_text == "It is fine."
    assert (len(claude.asks), claude.violations) == (4, [])
    assert said_by_claude(claude, 3) == [*claude.said[0], *last_said]


@pytest.mark.parametrize("version", VERSIONS)
def test_thoughts_keep_their_order_after_a_summary_that_the_client_asked_for(served: Served, version: str) -> None:
    client, claude, _ = served
    claude.say(BEGINS, [Says("The user asks.")], GOES_ON, ENDS)
    loop = Loop(client, version, [])
    loop.history.extend(loop.run(loop.ask(ROME)))
    summary = httpx.post(
        f"{client.base_url}responses/compact", json={"model": version, "input": plain(loop.history)}, timeout=50
    )
    loop.history[:] = summary.raise_for_status().json()["output"]
    third = loop.ask({"role": "user", "content": "And Paris?"})
    assert loop.ask(*loop.run(third)).output_text == "It is fine."
    assert (len(claude.asks), claude.violations) == (4, [])
    assert said_by_claude(claude, 2) == []
    assert said_by_claude(claude, 3) == claude.said[2]
