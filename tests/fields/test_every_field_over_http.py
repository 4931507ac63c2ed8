"""What docs/fields.md says of the two lanes that leave really happens: every member is sent to a scripted server."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any, Final

import httpx
import pytest

from app.emitter.call_register import tool_choice_warnings
from tests.fields.field_lanes import BY_SERVER, RELAYS, Lane, Seen
from tests.fields.lane_servers import QUERY, LaneServer, lane_server
from tests.wire.fields.field_samples import Case, Json, cases
from tests.wire.web_site import PDF, Site, page

CASES: Final = {json.dumps(case.body): case for case in cases() if not case.frame}
"""One for each request: some members are sent together."""
LINK: Final = "https://a.example/a.pdf"
RESULTS: Final = 2
NO_CALL: Final = [warning.details for warning in tool_choice_warnings({}, lacks_call=True)]
"""The model of these servers calls no tool of a client."""
NOT_ECHOED: Final = frozenset(
    {"completed_at", "created_at", "generate", "id", "include", "model", "output", "status", "stream", "usage"}
)


class Sent:
    """A lane as the table sees it, and what happens to requests in it."""

    def __init__(self, name: str, servers: LaneServer, client: httpx.Client) -> None:
        self.lane, self.servers = Lane(name), servers
        self._client = client

    def post(self, body: Json, url: str | None = None) -> httpx.Response:
        self.servers.upstream.asks.clear()
        self.servers.upstream.violations.clear()
        self.servers.searches.asked.clear()
        return self._client.post(f"{url or self.servers.url}/v1/responses", json=body)

    @property
    def asks(self) -> list[Json]:
        return [ask.body for ask in self.servers.upstream.asks]


@pytest.fixture(scope="module", params=["search", "functions"])
def sent(request: pytest.FixtureRequest) -> Iterator[Sent]:
    with lane_server(request.param) as servers, httpx.Client(timeout=20) as client:
        made = Sent(request.param, servers, client)
        yield made
        made.lane.close()
        servers.upstream.violations.clear()


def test_what_is_done_with_a_request_is_what_the_table_says(sent: Sent) -> None:
    for case in CASES.values():
        if case.name not in {"parameter:generate", *BY_SERVER}:
            check(case, sent)


def check(case: Case, sent: Sent) -> None:
    """What is refused is not sent on; of what is sent on, the model's server gets what was compared for the table."""
    seen, word = sent.lane.seen(case), sent.lane.outcome(case).word
    got = sent.post(case.body)
    if seen.refusal is not None:
        assert (got.status_code, got.json()["error"]["message"]) == (HTTPStatus.BAD_REQUEST, seen.refusal), case.name
        assert sent.asks == [], case.name
        return
    assert sent.asks[:1] == ([seen.ask] if seen.ask else []), case.name
    if sent.servers.upstream.violations:  # the server decides
        assert sent.lane.name in RELAYS, case.name
        assert (word, got.status_code) == ("passed on", HTTPStatus.BAD_REQUEST), case.name
        return
    assert got.status_code == HTTPStatus.OK, case.name
    warnings = list(json.loads(got.headers.get("x-am-warnings", "[]")))
    if not seen.ask:  # the request is translated in order to count its tokens
        assert set(warnings) >= set(seen.warnings), case.name
        return
    assert [warning for warning in warnings if warning not in NO_CALL] == list(seen.warnings), case.name
    assert set(warnings) & set(NO_CALL) == set() or "tool_choice" in case.name
    if case.body.get("stream"):
        assert got.headers["content-type"].startswith("text/event-stream")
    elif sent.lane.name not in RELAYS:
        response = got.json()
        assert {key: response.get(key) for key in seen.echo.keys() - NOT_ECHOED} == {
            key: value for key, value in seen.echo.items() if key not in NOT_ECHOED
        }, case.name
    check_search(seen, got, sent)


def check_search(seen: Seen, got: httpx.Response, sent: Sent) -> None:
    """A search is run as the client wants it, and shows what it found."""
    if seen.search is None:
        assert sent.servers.searches.asked == []
        return
    sites = "".join(f" site:{domain}" for domain in seen.search.domains)
    assert [asked.fields["q"] for asked in sent.servers.searches.asked] == [f"{QUERY}{sites}"]
    searched, *_ = got.json()["output"]
    found = 1 if seen.search.domains else round(RESULTS * seen.search.share)
    assert len(searched["action"]["sources"]) == found


def test_a_strict_server_refuses_what_has_a_warning(sent: Sent) -> None:
    for case in CASES.values():
        word = sent.lane.outcome(case).word
        if word == "warned" and ("." not in case.name or case.name.startswith("parameter:")):
            assert sent.post(case.body, sent.servers.strict).status_code == HTTPStatus.BAD_REQUEST, case.name
            assert sent.asks == [], case.name


def test_a_link_to_a_file_is_fetched_or_sent_on(sent: Sent) -> None:
    case = next(case for case in CASES.values() if case.name == "part:input_file.file_url")
    with Site({"/a.pdf": page(PDF, kind="application/pdf")}) as site:
        body: Any = json.loads(json.dumps(case.body).replace(LINK, f"{site.url}/a.pdf"))
        assert sent.post(body).status_code == HTTPStatus.OK
        (ask,) = map(json.dumps, sent.asks)
        assert (f"{site.url}/a.pdf" in ask) is (sent.lane.name in RELAYS)
        assert len(site.paths) == (sent.lane.name not in RELAYS)
