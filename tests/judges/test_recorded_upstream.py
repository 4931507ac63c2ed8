"""What OpenAI's servers were recorded to say reaches a client of AM Proxy in full, streamed or not."""

from functools import cache
from typing import Any

import httpx
import pytest

from tests.judges import Frames, TypesJudge, judge_answered_response, judge_stream
from tests.judges.cassettes import Recorded, recorded
from tests.judges.fetch_recordings import VERSIONS, archive
from tests.judges.streamed_items import told_texts
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.servers import End, ResponsesUpstream, Script

pytestmark = pytest.mark.apart("make recordings")

Json = dict[str, Any]


@cache
def streams(package: str) -> list[Recorded]:
    """The streams of a package."""
    if not archive(package).is_file():
        pytest.skip(f"{package} was not fetched: make recordings")
    return [answer for answer in recorded(archive(package)) if answer.kind == "stream"]


def events_in(content: bytes) -> list[Json]:
    frames = Frames()
    return frames.feed(content) + frames.end()


def told(items: list[Json], response: Json) -> tuple[Any, ...]:
    """What an answer tells, in which only ids and sealed content may be others."""
    kept = [
        (item["type"], item.get("call_id"), item.get("name"), item.get("status"), told_texts(item)) for item in items
    ]
    return kept, response["status"], response["incomplete_details"], response["usage"]


def of_events(events: list[Json]) -> tuple[Any, ...]:
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    return told(done, events[-1]["response"])


@pytest.mark.parametrize("package", sorted(VERSIONS.keys() - {"openai"}))  # which has no stream
def test_a_recorded_stream_reaches_the_client_in_full(package: str) -> None:
    types = TypesJudge()
    scripts: list[Script] = [[answer.content, End()] for answer in streams(package) for _ in range(2)]
    with ResponsesUpstream(*scripts) as upstream, httpx.Client() as client:
        settings = Settings(
            upstreams={"recorded": Upstream(via="responses", base_url=upstream.url)},
            models={"m": Model(upstream="recorded")},
        )
        with serving(settings) as url:
            for answer in streams(package):
                expected = of_events(events_in(answer.content))
                ask = {"model": "m", "input": "Hi"}
                events = events_in(client.post(f"{url}/v1/responses", json={**ask, "stream": True}).content)
                assert [*judge_stream(events), *types.events(events)] == [], answer.name
                assert of_events(events) == expected, answer.name
                whole = client.post(f"{url}/v1/responses", json=ask).json()
                assert [*judge_answered_response(whole), *types.response(whole)] == [], answer.name
                assert told(whole["output"], whole) == expected, answer.name
