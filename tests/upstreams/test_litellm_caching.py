"""Marks for Claude's cache, from a request through litellm to the wire of each provider."""

from collections.abc import Iterable
from typing import Any, Final

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.new_upstreams import upstream_of
from app.settings import Model, Settings, Upstream
from app.transports.auth import ANYONE
from app.upstreams.litellm_chat import LitellmChat
from app.wiring import build_catalogue
from tests.support.cached_session import SESSIONS, TOOLS, check_uses, requests
from tests.support.chat_requests import ask, assistant, call, output, user
from tests.support.upstream_asks import KEY, answers, server
from tests.wire.servers import Ask, ScriptedUpstream
from tests.wire.servers import anthropic as claude
from tests.wire.servers.prompt_cache import PromptCache, blocks_of

pytestmark = pytest.mark.xdist_group("litellm")

Json = dict[str, Any]

MARK: Final = {"type": "ephemeral"}
HOUR: Final = {"type": "ephemeral", "ttl": "1h"}
CLAUDE: Final = "claude-sonnet-4-5"
AT_BEDROCK: Final = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
AUTOMATIC: Final = Model(upstream="it")
ANSWER: Final = [*claude.begins(), *claude.text(0, "Hi"), *claude.ends()]
MARKED: Final = {"prompt_cache_breakpoint": {"mode": "explicit"}}


class Bedrock(ScriptedUpstream):
    """It refuses every request: what it was asked is all that is wanted."""

    def faults(self, ask: Ask) -> list[str]:
        """Refuse everything."""
        return [f"{ask.path} is not answered"]


def options(provider: str, model: Model = AUTOMATIC) -> ChatOptions:
    """The rules for a model at this provider."""
    settings = Settings(upstreams={"it": Upstream(provider=provider)}, models={"*": model})
    entry = build_catalogue(settings, {"it": upstream_of(settings.upstreams["it"])}).look_up("any", ANYONE)
    assert isinstance(entry.options, ChatOptions)
    return entry.options


async def sent(of: ChatOptions, every: Iterable[Json]) -> list[Json]:
    """What Anthropic is sent for these requests."""
    asks = [ask(of, of_model=CLAUDE, **fields).body for fields in every]
    with server("anthropic", *[ANSWER for _ in asks]) as upstream:
        chat = LitellmChat("anthropic", api_key=KEY, base_url=upstream.url)
        for body in asks:
            assert (await answers(chat, body))[1] is None
        await chat.close()
    return [asked.body for asked in upstream.asks]


async def sent_to_bedrock(of: ChatOptions, every: Iterable[Json]) -> list[Json]:
    """What Bedrock is sent for these requests, in the form of Anthropic."""
    with Bedrock() as upstream:
        upstream.may_violate = True
        chat = LitellmChat("bedrock", base_url=upstream.url)
        for fields in every:
            await answers(chat, ask(of, of_model=AT_BEDROCK, **fields).body)
        await chat.close()
    return [
        {
            "model": AT_BEDROCK,
            "tools": with_marks(asked.body["toolConfig"]["tools"]),
            "system": with_marks(asked.body["system"]),
            "messages": [{"content": with_marks(message["content"])} for message in asked.body["messages"]],
        }
        for asked in upstream.asks
    ]


def with_marks(blocks: list[Json]) -> list[Json]:
    """The blocks, each with the mark that follows it."""
    read: list[Json] = []
    for block in blocks:
        if "cachePoint" in block:
            read[-1]["cache_control"] = block["cachePoint"]
        else:
            read.append(dict(block))
    return read


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "made-up")
    monkeypatch.setenv("AWS_REGION", "us-east-1")


@pytest.mark.parametrize(("calls_of", "turn"), SESSIONS)
@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
async def test_a_session_of_thirty_turns_is_read_from_the_cache(provider: str, calls_of: int, turn: int) -> None:
    cache = PromptCache()
    send = sent if provider == "anthropic" else sent_to_bedrock
    bodies = await send(options(provider), requests(30, calls_of))
    assert len(bodies) == 30
    check_uses([cache.use(body) for body in bodies], turn)


TURNS: Final[Json] = {
    "instructions": "A.",
    "tools": TOOLS,
    "input": [user("1"), call("a"), output("a"), call("b"), output("b"), user("5"), assistant("6"), user("7")],
}
PARTS: Final = user({"type": "input_text", "text": "1", **MARKED}, {"type": "input_text", "text": "2"})
# tools 0 and 1, system 2, then: user 3, call 4, output 5, call 6, output 7 and user 8, assistant 9, user 10
TABLE: Final[list[tuple[str, Json, Model, list[tuple[int, Json]]]]] = [
    ("tools, system and the last two turns", TURNS, AUTOMATIC, [(1, MARK), (2, MARK), (8, MARK), (10, MARK)]),
    ("off", TURNS, Model(upstream="it", cache_control="off"), []),
    ("for an hour if configured", {"input": "Hi"}, Model(upstream="it", cache_ttl="1h"), [(0, HOUR)]),
    (
        "for an hour if the client wants it",
        {"input": "Hi", "prompt_cache_options": {"ttl": "12h"}},
        AUTOMATIC,
        [(0, HOUR)],
    ),
    (
        "the client's mark, which separates parts",
        {"instructions": "A.", "tools": TOOLS, "input": [PARTS]},
        AUTOMATIC,
        [(1, MARK), (2, MARK), (3, MARK), (4, MARK)],
    ),
    (
        "only the client's marks",
        {"tools": TOOLS, "input": [PARTS], "prompt_cache_options": {"mode": "explicit"}},
        AUTOMATIC,
        [(2, MARK)],
    ),
    (
        "an output that the client marked",
        {
            "input": [user("1"), call("a"), output("a", [{"type": "input_text", "text": "2", **MARKED}]), user("3")],
            "prompt_cache_options": {"mode": "explicit"},
            "tools": TOOLS,
        },
        AUTOMATIC,
        [(4, MARK)],
    ),
]


@pytest.mark.parametrize(("fields", "model", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
async def test_marks(fields: Json, model: Model, expected: list[tuple[int, Json]]) -> None:
    [body] = await sent(options("anthropic", model), [fields])
    blocks = blocks_of(body)
    assert [
        (index, block["cache_control"]) for index, block in enumerate(blocks) if "cache_control" in block
    ] == expected


@pytest.mark.parametrize(
    ("provider", "model", "marked"),
    [
        ("anthropic", CLAUDE, True),
        ("bedrock", AT_BEDROCK, True),
        ("bedrock", "us.amazon.nova-pro-v1:0", False),
        ("vertex_ai", "claude-sonnet-4-5", True),
        ("vertex_ai", "gemini-3-pro", False),
        ("openrouter", "anthropic/claude-sonnet-4.5", False),
        ("databricks", "databricks-claude-sonnet-4-5", False),
    ],
)
def test_marks_are_set_without_a_setting_where_litellm_passes_them_on(provider: str, model: str, marked: bool) -> None:  # noqa: FBT001
    assert ("cache_control" in str(ask(options(provider), of_model=model, **TURNS).body)) is marked
