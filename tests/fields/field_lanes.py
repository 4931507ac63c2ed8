"""What each lane does with a member: a request with it and one without it are translated, and compared."""

import asyncio
import json
from collections.abc import Sequence
from itertools import count
from typing import Any, Final, NamedTuple

import msgspec

from app.catalogue import Route
from app.dialects.chat.turn import ChatTurn
from app.dialects.search_loop import SearchLoop
from app.emitter.opening_response import opening_response
from app.new_turns import new_turn
from app.new_upstreams import upstream_of
from app.parsing.json_object import decode_object
from app.parsing.request_body import parse_object
from app.prompt.own_search import OwnSearch
from app.protocol.problems import ProblemError
from app.protocol.response import Identity
from app.settings import Model, Search, Secret, Server, Settings, Upstream
from app.transports.auth import ANYONE
from app.upstreams.litellm_ask import arguments
from app.upstreams.litellm_chat import LitellmChat
from app.wiring import build_catalogue
from tests.support.emitters import ReadableSealer
from tests.support.providers import openai_is_here
from tests.wire.fields.field_samples import PARAMETERS, Case, Json
from tests.wire.servers import KEY

NOWHERE: Final = "http://127.0.0.1:9/v1"
"""Nothing is sent."""
LANES: Final[dict[str, tuple[Json, Json]]] = {
    "chat": ({"via": "chat"}, {"name": "gpt"}),
    "search": ({"via": "chat"}, {"name": "gpt", "search": True}),
    "messages": ({"via": "messages", "provider": "anthropic"}, {"name": "claude-sonnet-4-6"}),
    "litellm": ({"via": "litellm", "provider": "openai"}, {"name": "gpt-5.1"}),
    "relay": ({"via": "responses"}, {"name": "gpt"}),
    "functions": ({"via": "responses", "tools": "functions"}, {"name": "gpt"}),
}
"""By name, the settings of the upstream and of the model."""
NAMES_OF_OPENAI: Final = {"max_tokens": "max_completion_tokens"}
RELAYS: Final = frozenset({"relay", "functions"})
"""Lanes to a server that has the Responses API itself."""


def settings_of(name: str, address: str = NOWHERE, searches: str = NOWHERE, **server: Any) -> Settings:
    """The settings of this lane, whose upstream and server that searches are at these addresses."""
    upstream, model = LANES[name]
    return Settings(
        upstreams={"it": Upstream(base_url=address, api_key=Secret(KEY), **upstream)},
        models={"m": Model(upstream="it", **model)},
        search=Search(backend="searxng", base_url=searches, results=2) if model.get("search") else Search(),
        server=Server(**server),
    )


class Seen(NamedTuple):
    """What one request leads to."""

    refusal: str | None
    ask: Json
    warnings: tuple[str, ...]
    echo: Json
    search: OwnSearch | None = None


class Outcome(NamedTuple):
    """What a lane does with a member, and the sentence that the client reads."""

    word: str
    sentence: str = ""


BY_SERVER: Final = {
    "parameter:prompt_cache_options.comparison_response_id": Outcome(
        "honoured", "Over a websocket and with `watch`; elsewhere there is a warning."
    ),
    "parameter:truncation": Outcome("honoured", "A conversation that is too long is shortened."),
    "part:input_file.file_url": Outcome("honoured", "The file is fetched, here or by the model's server."),
}
"""What the translation does not show; tests of turns and of summaries do."""


ANSWERS: Final = frozenset(
    {
        "include:reasoning.encrypted_content",
        "include:web_search_call.action.sources",
        "parameter:generate",
        "parameter:metadata",
        "parameter:reasoning.context",
        "parameter:reasoning.generate_summary",
        "parameter:reasoning.summary",
        "parameter:stream",
        "parameter:tool_choice",
    }
)
"""What is honoured in the answer."""


class Lane:
    """Translates requests, each once."""

    def __init__(self, name: str) -> None:
        self.name = name
        settings = settings_of(name)
        self._provider = openai_is_here()
        self._provider.__enter__()
        catalogue = build_catalogue(settings, {"it": upstream_of(settings.upstreams["it"])}, ReadableSealer())
        self._route: Route = catalogue.route_for("m", ANYONE).without_fetching()
        self._seen: dict[str, Seen] = {}
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        """Ends it."""
        self._provider.__exit__(None, None, None)
        self._loop.run_until_complete(self._route.entry.upstream.close())
        self._loop.close()

    def outcome(self, case: Case) -> Outcome:  # noqa: PLR0911 — one for each outcome
        """What becomes of this member."""
        sent, other = self._see(case.body), self._see(case.without)
        if sent.refusal is not None:
            return Outcome("refused", sent.refusal)
        if self.name in RELAYS and _holds(sent.ask, case):
            return Outcome("passed on")
        if case.name in BY_SERVER:
            return BY_SERVER[case.name]
        usual = self._see(PARAMETERS).warnings if case.name.startswith("parameter:") else ()
        if new := [sentence for sentence in sent.warnings if sentence not in other.warnings + usual]:
            return Outcome("warned", new[0])
        if about := [sentence for sentence in sent.warnings if _is_about(sentence, case)]:
            return Outcome("warned", about[0])
        if (sent.ask, sent.search) != (other.ask, other.search) or other.refusal is not None:
            return Outcome("honoured")
        return Outcome("honoured" if sent.echo != other.echo and case.name in ANSWERS else "quiet")

    def seen(self, case: Case) -> Seen:
        """What the upstream is sent, and what the client reads."""
        return self._see(case.body)

    def _see(self, body: Json) -> Seen:
        key = json.dumps(body)
        if key not in self._seen:
            self._seen[key] = self._loop.run_until_complete(self._translated(key))
        return self._seen[key]

    async def _translated(self, body: str) -> Seen:
        numbers = count(1)

        def new_id(kind: str) -> str:
            return f"{kind}_{next(numbers)}"

        try:
            request = parse_object(decode_object(body.encode(), 10_000))
            if not self._route.ways(request):
                unasked = tuple(each.details for each in request.warnings)
                return Seen(None, {}, unasked, {"generate": False})
            turn = await new_turn(self._route, request, Identity("resp_1", 1), new_id, lambda: 1)
        except ProblemError as error:
            return Seen(error.problem.message, {}, (), {})
        warnings = tuple(each.details for each in turn.warnings)
        echo = msgspec.to_builtins(opening_response(request, id="resp_1", created_at=1))
        loop = turn.loop if isinstance(turn, ChatTurn) else None
        search = loop.search if isinstance(loop, SearchLoop) else None
        shown = {**echo, "stream": request.stream, "include": request.include}
        return Seen(None, await self._sent(turn.ask), warnings, shown, search)

    async def _sent(self, ask: Json) -> Json:
        """What is sent of this ask, which litellm changes."""
        upstream = self._route.entry.upstream
        if not isinstance(upstream, LitellmChat):
            return ask
        given, dropped = arguments("openai", ask, base_url=NOWHERE), await upstream.dropped(ask)
        given |= given.get("extra_body", {})
        kept = {NAMES_OF_OPENAI.get(name, name): given[name] for name in ask if name in given and name not in dropped}
        messages = [{key: value for key, value in each.items() if value is not None} for each in given["messages"]]
        return {**kept, "model": ask["model"], "stream_options": given["stream_options"], "messages": messages}


def _is_about(sentence: str, case: Case) -> bool:
    """Whether a warning is about the whole item, part, tool or choice."""
    what, _, path = case.name.partition(":")
    kind = path.split(".")[0]
    places = {"item": (f"'{kind}'", "input[1]", "input[2]"), "part": ("input[1].content[1]",), "tool": ("tools[0]",)}
    return any(place in sentence for place in places.get(what, (f"'{kind}",)))


def _holds(ask: Json, case: Case) -> bool:
    """Whether a Responses server is sent the value as it is."""
    what = case.name.partition(":")[0]
    items = ask["input"] if isinstance(ask.get("input"), list) else []
    contents = [item["content"] for item in items if isinstance(item.get("content"), list)]
    places: dict[str, Sequence[Any]] = {
        "item": items,
        "part": [part for content in contents for part in content],
        "tool": ask.get("tools", []),
        "tool_choice": [ask.get("tool_choice")],
        "include": ask.get("include", []),
    }
    if what == "parameter":
        return case.name != "parameter:model" and all(ask.get(key) == value for key, value in case.held.items())
    return case.held in places[what]
