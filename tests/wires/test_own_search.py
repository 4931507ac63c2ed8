"""A model searches the web by this server, in the middle of its answer, over every lane.

The servers do the checking: an ask that lost or altered what they want back is refused.
"""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import pytest
from openai import OpenAI
from openai.types.responses import Response

from app.settings import Search
from tests.support.provider_lanes import LANES, Wired, wired
from tests.wire.event_stream import events_of, judged
from tests.wire.foreign_judges import judge_response
from tests.wire.search_server import SearchServer
from tests.wire.servers import Answer, Calls, ModelUpstream, Says, Thinks

pytestmark = pytest.mark.xdist_group("litellm")

FIRST: Final[Answer] = [
    Thinks(" Two cités.\u2028Cats first.\n"),
    Says("Let me look."),
    Calls("web_search", '{"query":  "cats é"}'),
]
SECOND: Final[Answer] = [
    Thinks("And dogs?"),
    Calls("web_search", '{"query": "dogs", "recency_days": 2}'),
    Calls("web_search", '{"recency_days": 2}'),
]
TEXT: Final = "Cats sleep ([First page](https://example.com/one)); see [mine](https://example.net/)."
THIRD: Final[Answer] = [Thinks("All fine."), Says(TEXT)]
FOURTH: Final[Answer] = [Says("You are welcome.")]
SOURCES: Final = [{"type": "url", "url": url} for url in ("https://example.com/one", "https://example.org/two")]


@pytest.fixture(scope="module")
def searching() -> Iterator[tuple[Wired, SearchServer]]:
    """Every lane, with a model for which this server searches."""
    lanes = {name: lane._replace(model={**lane.model, "search": True}) for name, lane in LANES.items()}
    with SearchServer() as server:
        search = Search(backend="searxng", base_url=server.url)
        with wired(lanes, search=search) as everything:
            yield everything, server


@pytest.fixture(params=LANES)
def lane(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def wire(searching: tuple[Wired, SearchServer], lane: str) -> Iterator[ModelUpstream]:
    """The server behind this lane. It found nothing to refuse."""
    wire = searching[0].wires[lane]
    searching[1].asked.clear()
    wire.say(FIRST, SECOND, THIRD, FOURTH)
    yield wire
    assert wire.violations == []


def answer_to(client: OpenAI, lane: str, history: list[Any], *, stream: bool) -> Response:
    """The answer, whose events and items are valid."""
    settings: Any = {
        "model": lane,
        "input": history,
        "tools": [{"type": "web_search"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "low", "summary": "auto"},
        "tool_choice": "auto" if stream else {"type": "web_search_preview"},  # demanded once, and then free
    }
    with client.responses.with_streaming_response.create(**settings, stream=stream) as answer:
        body = answer.read()
    if not stream:
        judge_response(json.loads(body))
        return Response.model_validate_json(body)
    events = events_of(body)
    judged(events)
    return Response.model_validate(events[-1]["response"])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_a_model_searches_in_the_middle_of_its_answer(
    wire: ModelUpstream,
    lane: str,
    searching: tuple[Wired, SearchServer],
    stream: bool,  # noqa: FBT001 — one of the two ways to ask
) -> None:
    everything, server = searching
    with OpenAI(base_url=f"{everything.url}/v1", api_key="any", max_retries=0) as client:
        history: list[Any] = [{"role": "user", "content": "What do cats do?"}]
        response = answer_to(client, lane, history, stream=stream)
        history += [*response.output, {"role": "user", "content": "Thanks."}]
        last = answer_to(client, lane, history, stream=stream)

    shown = [item for item in response.output if item.type != "reasoning"]
    assert [item.type for item in shown] == ["message", "web_search_call", "web_search_call", "message"]
    searches = [item.model_dump(exclude_none=True) for item in shown if item.type == "web_search_call"]
    assert [(item["status"], item["action"]) for item in searches] == [
        ("completed", {"type": "search", "query": query, "queries": [query], "sources": SOURCES})
        for query in ("cats é", "dogs")
    ]
    assert response.output_text == f"Let me look.{TEXT}"
    message = shown[-1]
    assert message.type == "message"
    assert message.content[0].type == "output_text"
    [citation] = [each.model_dump() for each in message.content[0].annotations]
    assert citation["url"] == "https://example.com/one"
    cited = TEXT[citation["start_index"] : citation["end_index"]]
    assert (citation["title"], cited) == ("First page", "[First page](https://example.com/one)")

    assert sorted(tuple(sorted(asked.fields.items())) for asked in server.asked) == [
        (("format", "json"), ("q", "cats é")),
        (("format", "json"), ("q", "dogs"), ("time_range", "week")),
    ]
    assert len(wire.asks) == 4
    assert response.usage is not None
    assert response.usage.input_tokens == 3 * wire.count.prompt
    assert response.usage.output_tokens == 3 * wire.count.completion
    assert response.usage.input_tokens_details.cached_tokens == 3 * wire.count.cached
    assert "First page" in json.dumps(wire.asks[1].body)
    assert "Nothing was searched" in json.dumps(wire.asks[2].body)
    for ask, next_ask in pairwise(wire.asks[:3]):
        assert len(json.dumps(ask.body)) < len(json.dumps(next_ask.body))
    assert last.output_text == "You are welcome."
