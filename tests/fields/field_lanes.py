"""What each lane does with a member: a request with it and one without it are translated, and compared."""

import asyncio
import json
from collections.abc import Sequence
from itertools import count
from typing import Any, Final, NamedTuple

import msgspec

from app.catalogue import Route
from app.emitter.opening_response import opening_response
from app.new_turns import new_turn
from app.parsing.json_object import decode_object
from app.parsing.request_body import parse_object
from app.protocol.problems import ProblemError
from app.protocol.response import Identity
from app.settings import Model, Settings, Upstream
from app.transports.auth import ANYONE
from app.wiring import build_catalogue, upstream_of
from tests.fields.field_samples import PARAMETERS, Case, Json
from tests.support.emitters import ReadableSealer

NOWHERE: Final = "http://127.0.0.1:9/v1"
"""Nothing is sent."""
LANES: Final[dict[str, tuple[Upstream, str]]] = {
    "chat": (Upstream(via="chat", base_url=NOWHERE), "gpt"),
    "messages": (Upstream(via="messages", provider="anthropic", base_url=NOWHERE), "claude-sonnet-4-6"),
    "litellm": (Upstream(via="litellm", provider="openai", base_url=NOWHERE), "gpt-5.1"),
    "relay": (Upstream(via="responses", base_url=NOWHERE), "gpt"),
}
"""By name, the upstream and the model."""


class Seen(NamedTuple):
    """What one request leads to."""

    refusal: str | None
    ask: Json
    warnings: tuple[str, ...]
    echo: Json


class Outcome(NamedTuple):
    """What a lane does with a member, and the sentence that the client reads."""

    word: str
    sentence: str = ""


BY_SERVER: Final = {
    "parameter:prompt_cache_options.comparison_response_id": Outcome(
        "honoured", "Over a websocket and with `watch`; elsewhere there is a warning."
    ),
    "parameter:truncation": Outcome("honoured", "A conversation that is too long is shortened."),
}
"""What the translation does not show; tests of turns and of summaries do."""


ANSWERS: Final = frozenset(
    {
        "include:reasoning.encrypted_content",
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
        upstream, model = LANES[name]
        settings = Settings(upstreams={"it": upstream}, models={"m": Model(upstream="it", name=model)})
        catalogue = build_catalogue(settings, {"it": upstream_of(upstream)}, ReadableSealer())
        self._route: Route = catalogue.route_for("m", ANYONE).without_fetching()
        self._seen: dict[str, Seen] = {}
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        """Ends it."""
        self._loop.run_until_complete(self._route.entry.upstream.close())
        self._loop.close()

    def outcome(self, case: Case) -> Outcome:  # noqa: PLR0911 — one for each outcome
        """What becomes of this member."""
        if case.name in BY_SERVER and self.name != "relay":
            return BY_SERVER[case.name]
        sent, other = self._see(case.body), self._see(case.without)
        if sent.refusal is not None:
            return Outcome("refused", sent.refusal)
        if self.name == "relay" and _holds(sent.ask, case):
            return Outcome("passed on")
        usual = self._see(PARAMETERS).warnings if case.name.startswith("parameter:") else ()
        if new := [sentence for sentence in sent.warnings if sentence not in other.warnings + usual]:
            return Outcome("warned", new[0])
        if about := [sentence for sentence in sent.warnings if _is_about(sentence, case)]:
            return Outcome("warned", about[0])
        if sent.ask != other.ask or other.refusal is not None:
            return Outcome("honoured")
        return Outcome("honoured" if sent.echo != other.echo and case.name in ANSWERS else "quiet")

    def ask(self, case: Case) -> Json:
        """What the upstream is sent."""
        return self._see(case.body).ask

    def _see(self, body: Json) -> Seen:
        key = json.dumps(body, sort_keys=True)
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
        return Seen(None, turn.ask, warnings, {**echo, "stream": request.stream, "include": request.include})


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
