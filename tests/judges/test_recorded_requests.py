"""What OpenAI's servers were recorded to accept, AM Proxy accepts, whatever API its model's server has."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final, Literal, get_args

import httpx
import pytest

from tests.judges.cassettes import recorded
from tests.judges.fetch_recordings import VERSIONS, archive
from tests.wire.configuration import Model, Settings, Upstream
from tests.wire.program import serving
from tests.wire.script import text_turn
from tests.wire.servers import KEY, AnthropicUpstream, ChatUpstream, ResponsesUpstream, Says, ScriptedUpstream
from tests.wire.servers.responses import answer, message

pytestmark = pytest.mark.apart("make recordings")

Json = dict[str, Any]

Via = Literal["chat", "messages", "responses"]
ALL: Final[tuple[Via, ...]] = get_args(Via)
_CALLS: Final = "mirascope e2e/input/cassettes/test_call_with"
REFUSED: Final[dict[str, tuple[str, tuple[Via, ...]]]] = {
    "langchain-openai cassettes/test_mcp_builtin 1": ("previous_response_id", ALL),
    "langchain-openai cassettes/test_web_search 2": ("previous_response_id", ALL),
    "chatlas _vcr/test_provider_openai/test_openai_pdf_url 0": ("it could not be fetched", ("chat", "messages")),
    f"{_CALLS}_document_url/openai_gpt_4o_responses 0": ("it could not be fetched", ("chat", "messages")),
    f"{_CALLS}_empty_string/openai_gpt_4o_responses 0": ("empty", ("chat", "messages")),
    f"{_CALLS}_two_empty_string/openai_gpt_4o_responses 0": ("empty", ("chat", "messages")),
}
"""Requests that are refused, with words of the message, and where.

No response is stored; tests have no network; and many servers of the other APIs, as these here, take no empty message.
"""


def accepted(package: str) -> dict[str, Json]:
    """The requests that were answered, each once."""
    if not archive(package).is_file():
        pytest.skip(f"{package} was not fetched: make recordings")
    bodies = {each.request: each.name for each in recorded(archive(package)) if each.kind != "error" and each.request}
    return {name: json.loads(body) for body, name in bodies.items()}


def strict(via: Via) -> ScriptedUpstream:
    """A server that refuses what real ones with this API refuse."""
    if via == "chat":
        return ChatUpstream(text_turn("Fine."))
    if via == "messages":
        return AnthropicUpstream().say([Says("Fine.")])
    return ResponsesUpstream(answer(message("msg_1", "Fine.")))


@contextmanager
def lane(via: Via) -> Iterator[str]:
    """AM Proxy in front of such a server."""
    with strict(via) as upstream:
        upstream.may_violate = True  # its refusals are looked at
        settings = Settings(
            upstreams={"strict": Upstream(via=via, base_url=upstream.url, api_key=KEY)},
            models={"m": Model(upstream="strict")},
        )
        with serving(settings) as url:
            yield url


@pytest.mark.parametrize("via", ALL)
@pytest.mark.parametrize("package", sorted(VERSIONS.keys() - {"openai"}))
def test_recorded_requests_are_accepted(package: str, via: Via) -> None:
    requests = {f"{package} {name}": body for name, body in accepted(package).items()}
    refused: dict[str, str] = {}
    with lane(via) as url, httpx.Client(timeout=30) as client:
        for name, body in requests.items():
            reply = client.post(f"{url}/v1/responses", json={**body, "model": "m"})
            if reply.status_code != HTTPStatus.OK:
                refused[name] = reply.text
    expected = {name: words for name, (words, where) in REFUSED.items() if name in requests and via in where}
    assert refused.keys() == expected.keys(), refused
    assert all(words in refused[name] for name, words in expected.items())
