"""What each lane, a way to ask a model, does with a member, as far as it is seen from outside."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from typing import Any, Final, NamedTuple

from tests.wire.configuration import Model, Server, Settings, Upstream
from tests.wire.fields.field_samples import PARAMETERS, Case, Json
from tests.wire.program import serving
from tests.wire.script import call_turn, says, thinks, turn
from tests.wire.servers import KEY, AnthropicUpstream, Ask, ChatUpstream, ResponsesUpstream, ScriptedUpstream, Step
from tests.wire.servers.anthropic import begins, ends, text, thinking, tool_use
from tests.wire.servers.responses import answer, message
from tests.wire.sockets import opened

LANES: Final[dict[str, tuple[Json, Json]]] = {
    "chat": ({"via": "chat"}, {"name": "gpt"}),
    "messages": ({"via": "messages", "provider": "anthropic"}, {"name": "claude-sonnet-4-6"}),
    # an address of one's own is not known to refuse what OpenAI's does: reasoning, and two penalties (honoured here)
    "litellm": ({"via": "litellm", "provider": "openai"}, {"name": "gpt-5.1", "give_back_reasoning": False}),
    "relay": ({"via": "responses"}, {"name": "gpt"}),
}
"""By name, the settings of the upstream and of the model, which has the same name."""
CALL: Final = '{"input": "x"}'


class Seen(NamedTuple):
    """What one request leads to."""

    status: int
    error: Json
    warnings: Sequence[str]
    asks: Sequence[Json]
    shown: Json
    """What is honoured in the answer."""


class Outcome(NamedTuple):
    """What a lane does with a member, and the sentence and the `param` that the client reads."""

    word: str
    sentence: str = ""
    param: str | None = None


class Lane:
    """Sends requests, one after the other and each once."""

    def __init__(self, name: str, urls: Sequence[str], upstream: ScriptedUpstream) -> None:
        """`urls` are those of a usual server and of a strict one."""
        self.name, self.url, self._upstream = name, urls[0], upstream
        self._connections = [HTTPConnection(url.removeprefix("http://"), timeout=30) for url in urls]
        self._seen: dict[str, Seen] = {}

    def outcome(self, case: Case) -> Outcome:
        """What becomes of this member."""
        sent, other = self._see(case.body), self._see(case.without)
        if sent.status != HTTPStatus.OK:
            word = "refused" if sent.status == HTTPStatus.BAD_REQUEST and not sent.asks else f"fails with {sent.status}"
            return Outcome(word, sent.error.get("message", ""), sent.error.get("param"))
        if self.name == "relay" and sent.asks and _holds(sent.asks[0], case):
            return Outcome("passed on")
        usual = self._see(PARAMETERS).warnings if case.name.startswith("parameter:") else ()
        new = [sentence for sentence in sent.warnings if sentence not in (*other.warnings, *usual)]
        about = [sentence for sentence in sent.warnings if is_about(sentence, case)]
        if new or about:
            return Outcome("warned", (new or about)[0])
        return Outcome("quiet" if (sent.asks, sent.shown) == (other.asks, other.shown) else "honoured")

    def strictly(self, case: Case) -> Seen:
        """What a strict server does."""
        return self._asked(self._told(case.body), self._connections[1])

    def frame(self, case: Case) -> str:
        """What becomes of this frame of a websocket, in one word."""
        return asyncio.run(self._framed(case.held))

    async def _framed(self, frame: Json) -> str:
        told = {"input": "Hi", "model": self.name} if frame["type"] == "response.create" else {}
        async with opened(self.url, max_queue=None) as client:  # it closes at once, whatever arrives
            await client.connection.send(json.dumps({**frame, **told}))
            first = await client.event()
        return "refused" if first["type"] == "error" or first["type"].endswith(".failed") else "honoured"

    def _told(self, body: Json) -> str:
        return json.dumps({**body, "model": self.name} if body.get("model") == PARAMETERS["model"] else body)

    def _see(self, body: Json) -> Seen:
        told = self._told(body)
        if told not in self._seen:
            self._seen[told] = self._asked(told, self._connections[0])
        return self._seen[told]

    def _asked(self, body: str, connection: HTTPConnection) -> Seen:
        self._upstream.asks.clear()
        connection.request("POST", "/v1/responses", body, {"content-type": "application/json"})
        got = connection.getresponse()
        raw, kind = got.read(), got.headers["content-type"]
        told: Json = json.loads(raw) if kind.startswith("application/json") else {}
        shown = {"kind": kind, **{key: told.get(key) for key in ("metadata", "prompt_cache_diagnostics")}}
        shown["reasoning"] = {key: value for key, value in (told.get("reasoning") or {}).items() if value is not None}
        shown["sealed"] = ["encrypted_content" in item for item in told.get("output", [])]
        warnings = json.loads(got.headers.get("x-am-warnings", "[]"))
        return Seen(got.status, told.get("error") or {}, warnings, [ask.body for ask in self._upstream.asks], shown)


def place_of(case: Case) -> str:
    """The path of the member, or of the item, part or tool that holds it."""
    what, _, path = case.name.partition(":")
    if what == "item":
        return f"input[{case.body['input'].index(case.held)}]"
    known = {"parameter": path.split(".")[0], "part": "input[1].content[1]", "tool": "tools[0]"}
    return known.get(what, what)


def is_about(sentence: str, case: Case) -> bool:
    """Whether it names the place of the member, or its kind."""
    what, _, path = case.name.partition(":")
    return f"'{path.split('.')[0]}" in sentence or (what != "parameter" and place_of(case) in sentence)


def _holds(ask: Json, case: Case) -> bool:
    """Whether a Responses server is sent the value as it is."""
    what = case.name.partition(":")[0]
    if what == "parameter":
        return case.name != "parameter:model" and all(ask.get(key) == value for key, value in case.held.items())
    items = ask["input"] if isinstance(ask["input"], list) else []
    held: dict[str, Sequence[Any]] = {
        "item": items,
        "part": [part for item in items if isinstance(item.get("content"), list) for part in item["content"]],
        "tool": ask.get("tools", []),
        "tool_choice": [ask.get("tool_choice")],
        "include": ask.get("include", []),
    }
    return case.held in held[what]


def _chat(ask: Ask) -> list[Step]:
    """It calls a tool if it must."""
    choice = ask.body.get("tool_choice", "auto")
    if choice in ("auto", "none"):
        return [*turn(thinks("Hm."), says("Hi"))]
    tool = ask.body["tools"][0] if choice == "required" else choice
    return [*call_turn(tool["function"]["name"], CALL)]


def _messages(ask: Ask) -> list[Step]:
    choice = ask.body.get("tool_choice", {})
    if choice.get("type") not in {"any", "tool"}:
        return [*begins(), *thinking(0, "Hm."), *text(1, "Hi"), *ends()]
    name = choice.get("name") or ask.body["tools"][0]["name"]
    return [*begins(), *tool_use(0, name, "toolu_1", CALL), *ends("tool_use")]


def _upstreams() -> dict[str, ScriptedUpstream]:
    return {
        "chat": ChatUpstream(_chat),
        "messages": AnthropicUpstream(_messages),
        "litellm": ChatUpstream(_chat, also="prompt_cache_retention"),
        "relay": ResponsesUpstream(answer(message("msg_1", "Hi"))),
    }


@contextmanager
def open_lanes() -> Iterator[list[Lane]]:
    """All lanes, until the block ends: litellm in a process of its own, and one strict process for all."""
    with ExitStack() as stack:
        upstreams = {name: stack.enter_context(upstream) for name, upstream in _upstreams().items()}

        def started(*names: str, strict: bool = False) -> str:
            text = Settings(
                upstreams={
                    name: Upstream(base_url=upstreams[name].url, api_key=KEY, **LANES[name][0]) for name in names
                },
                models={name: Model(upstream=name, **LANES[name][1]) for name in names},
                server=Server(allow_private_urls=True, strict=strict),
            )
            return stack.enter_context(serving(text))

        usual, loaded, strict = started("chat", "messages", "relay"), started("litellm"), started(*LANES, strict=True)
        yield [
            Lane(name, (loaded if name == "litellm" else usual, strict), upstream)
            for name, upstream in upstreams.items()
        ]
