"""POST /v1/alpha/search: what Codex asks, over servers that search and refuse what the real ones refuse."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import httpx
import pytest

from tests.http.logged import line_of_turn
from tests.wire.configuration import Key, Model, Search, Settings, Upstream
from tests.wire.program import own_program, serving
from tests.wire.search_server import KEY, Answered, SearchServer

Json = dict[str, Any]

CATS: Final = {"search_query": [{"q": "cats"}]}
OUTPUT: Final = """\
Results for "cats":
1. First page
   https://example.com/one
   One & more.
2. Second page
   https://example.org/two
   Two."""
RESULTS: Final = [
    {
        "type": "text_result",
        "ref_id": "https://example.com/one",
        "url": "https://example.com/one",
        "title": "First page",
        "snippet": "One & more.",
    },
    {
        "type": "text_result",
        "ref_id": "https://example.org/two",
        "url": "https://example.org/two",
        "title": "Second page",
        "snippet": "Two.",
    },
]


@contextmanager
def searching(server: SearchServer, kind: str = "searxng") -> Iterator[str]:
    """The address of a program before this server."""
    with serving(Settings(search=before(server, kind))) as url:
        yield url


def before(server: SearchServer, kind: str = "searxng") -> Json:
    return Search(backend=kind, base_url=server.url, api_key=None if kind == "searxng" else KEY)


def ask(url: str, commands: Json, key: str = "", **more: Any) -> httpx.Response:
    """As Codex asks."""
    body = {"id": "session", "model": "demo", "input": [], "commands": commands, "max_output_tokens": 2500, **more}
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.post(f"{url}/v1/alpha/search", json=body, headers=headers, timeout=20)


def output(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    text: str = answer.json()["output"]
    return text


@pytest.mark.parametrize("kind", ["searxng", "brave", "exa", "tavily"])
def test_every_server_that_searches(kind: str) -> None:
    with SearchServer(kind) as server, searching(server, kind) as url:
        commands = {"search_query": [{"q": "cats", "recency": 3}]}
        assert ask(url, commands).json() == {"output": OUTPUT, "results": RESULTS}
    assert len(server.asked) == 1


def test_domains_of_the_words_and_of_the_settings() -> None:
    filters = {"allowed_domains": ["example.com", "a.org"], "blocked_domains": ["b.org"]}
    with SearchServer() as server, searching(server) as url:
        answer = ask(url, CATS, settings={"filters": filters})
        assert [each["url"] for each in answer.json()["results"]] == ["https://example.com/one"]
        commands = {"search_query": [{"q": "cats", "domains": ["example.org", "no name", "x" * 300, "é.org"]}]}
        assert [each["url"] for each in ask(url, commands).json()["results"]] == ["https://example.org/two"]
        assert ask(url, commands, settings={"filters": filters}).json()["results"] == []
        answer = ask(url, CATS, settings={"filters": {"blocked_domains": ["example.com"]}})
        assert [each["url"] for each in answer.json()["results"]] == ["https://example.org/two"]
    queries = [asked.fields["q"] for asked in server.asked]
    assert queries == ["cats (site:example.com OR site:a.org)", *["cats site:example.org"] * 2, "cats"]


FAILURES: Final[dict[str, tuple[Answered, str]]] = {
    "a refusal": (Answered(401, b"the key sk-search is wrong", {}), "the search server answered with the status 401"),
    "a failure": (Answered(500, b"", {}), "the search server answered with the status 500"),
    "a redirect": (
        Answered(302, b"", {"location": "http://127.0.0.1:9/"}),
        "the search server answered with the status 302",
    ),
    "no JSON": (Answered(200, b"<html>", {}), "the answer of the search server has no list of results"),
    "not UTF-8": (Answered(200, b'{"results":"\xff"}', {}), "the answer of the search server has no list of results"),
    "other JSON": (Answered(200, b'{"items":[]}', {}), "the answer of the search server has no list of results"),
    "very deep": (Answered(200, b"[" * 100_000, {}), "the answer of the search server has no list of results"),
    "many values": (
        Answered(200, b'{"results":[' + b"1," * 200_000 + b"1]}", {}),
        "the answer of the search server has no list of results",
    ),
    "too long": (Answered(200, b" " * (2 * 1024 * 1024 + 1), {}), "the answer of the search server is too long"),
    "compressed": (
        Answered(200, b"x", {"content-encoding": "gzip"}),
        "the search server compressed its answer",
    ),
    "cut off": (
        Answered(200, b"{}", {"content-length": "500", "connection": "close"}),
        "the search server could not be reached",
    ),
}


@pytest.mark.parametrize(("answer", "why"), FAILURES.values(), ids=FAILURES)
def test_a_search_that_fails_is_told_and_the_rest_goes_on(answer: Answered, why: str) -> None:
    commands = {**CATS, "time": [{"utc_offset": "+00:00"}]}
    with SearchServer("brave", answer) as server, searching(server, "brave") as url:
        text = output(ask(url, commands))
    assert text.startswith(f'The search for "cats" failed: {why}.\n\nThe time at UTC+00:00 is ')
    assert KEY not in text


def test_a_server_that_is_not_there() -> None:
    with SearchServer() as server:
        pass
    with searching(server) as url:
        assert output(ask(url, CATS)) == 'The search for "cats" failed: the search server could not be reached.'


OFFSETS: Final = {
    "+03:00": r"The time at UTC\+03:00 is [A-Z][a-z]+day, \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.",
    "-09:30": r"The time at UTC-09:30 is .*\.",
    "+24:00": r'"\+24:00" is no offset such as "\+03:00"\.',
    "+03:60": r'"\+03:60" is no offset such as "\+03:00"\.',
    "3": r'"3" is no offset such as "\+03:00"\.',
    "": r'"" is no offset such as "\+03:00"\.',
    "+٠٣:00": r'"\+٠٣:00" is no offset such as "\+03:00"\.',
}


@pytest.mark.parametrize(("offset", "wanted"), OFFSETS.items())
def test_the_time_needs_no_server(offset: str, wanted: str) -> None:
    with serving() as url:
        assert re.fullmatch(wanted, output(ask(url, {"time": [{"utc_offset": offset}]})))


@pytest.mark.parametrize("commands", [CATS, {**CATS, "time": [{"utc_offset": "+00:00"}]}, {}, {"weather": [{}]}])
def test_without_a_server_anything_else_is_a_501(commands: Json) -> None:
    with serving() as url:
        answer = ask(url, commands)
    assert answer.status_code == 501
    assert answer.json()["error"]["code"] == "search_unavailable"


TOLD: Final[dict[str, tuple[Json, str]]] = {
    "nothing": ({}, "There was nothing to do."),
    "an empty query": ({"search_query": [{"q": " "}]}, "The query is empty: nothing was searched."),
    "a long query": (
        {"search_query": [{"q": "x" * 401}]},
        "The query was not searched: it is longer than 400 characters.",
    ),
    "what is not there": (
        {"weather": [{"location": "x"}], "finance": [{}]},
        "`finance` is not available on this server.\n\n`weather` is not available on this server.",
    ),
}


@pytest.mark.parametrize(("commands", "wanted"), TOLD.values(), ids=TOLD)
def test_what_else_the_model_is_told(commands: Json, wanted: str) -> None:
    with SearchServer() as server, searching(server) as url:
        assert output(ask(url, commands)) == wanted
    assert server.asked == []


def test_no_more_commands_than_the_most_and_no_more_output_than_wanted() -> None:
    commands = {"search_query": [{"q": f"cats {number}"} for number in range(1000)]}
    with SearchServer() as server, searching(server) as url:
        text = output(ask(url, commands, max_output_tokens=100))
    assert len(server.asked) == 12
    assert text.endswith("[cut off]")
    assert len(text) < 400 + 13 * len("\n[cut off]\n\n")


INVALID: Final[list[tuple[Json, str, str]]] = [
    ({"commands": []}, "invalid_type", "commands"),
    ({"commands": {"search_query": [{}]}}, "missing_required_parameter", "commands.search_query[0].q"),
    ({"max_output_tokens": 0}, "invalid_value", "max_output_tokens"),
    ({"settings": {"filters": {"allowed_domains": "a"}}}, "invalid_type", "settings.filters.allowed_domains"),
]


@pytest.mark.parametrize(("body", "code", "param"), INVALID)
def test_an_invalid_request_is_refused_by_its_path(body: Json, code: str, param: str) -> None:
    with serving() as url:
        error = httpx.post(f"{url}/v1/alpha/search", json=body).json()["error"]
    assert (error["code"], error["param"]) == (code, param)


def test_a_search_counts_for_the_limits_of_its_key_and_is_logged() -> None:
    key = Key(name="alice", value="sk-alice", requests_per_minute=2)
    with SearchServer() as server, own_program(Settings(search=before(server), keys=[key])) as program:
        answers = [ask(program.url, CATS, "sk-alice") for _ in range(3)]
        assert ask(program.url, CATS, "sk-bob").status_code == 401
        line = line_of_turn(program, answers[0].headers["x-request-id"])
        assert "cats" not in program.log
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert [answer.headers["x-ratelimit-remaining-requests"] for answer in answers] == ["1", "0", "0"]
    assert (line["key"], line["model"], line["status"]) == ("alice", "demo", 200)


def test_callers_without_a_key_of_this_server_cannot_search() -> None:
    with SearchServer() as server:
        settings = Settings(
            search=before(server),
            keys=[Key(name="alice", value="sk-alice")],
            upstreams={"p": Upstream(via="chat", base_url="http://127.0.0.1:9", auth="passthrough")},
            models={"m": Model(upstream="p")},
        )
        with serving(settings) as url:
            assert ask(url, CATS, "sk-made-up").status_code == 401
            assert ask(url, CATS, "sk-alice").status_code == 200
    assert len(server.asked) == 1
