"""What a survey finds behind addresses of servers with the Messages API."""

from typing import Final

import pytest

from app.options import Via
from app.providers.lookup import BY_NAME
from app.upstreams import survey as room
from app.upstreams.messages_address import messages_provider
from app.upstreams.survey import ListedModel, Survey, survey
from tests.support.surveyed_server import REFUSES_EMPTY, Page, SurveyedServer, chats, listing
from tests.wire.servers import Ask, Status

OTHERS: Final[frozenset[Via]] = frozenset({"chat", "responses"})
NO_KEY: Final = Status(401, {"error": {"message": "no key"}})
ONE: Final = (ListedModel("one"),)


def behind(header: str, page: Status) -> Page:
    """The page for a request whose key is in this header."""

    def answer(ask: Ask) -> Status:
        return page if "a-key" in ask.headers.get(header, "") else NO_KEY

    return answer


@pytest.mark.parametrize("given", ["", "/", "/v1"])
async def test_a_server_of_messages_alone_is_asked_by_messages(given: str) -> None:
    pages = {"/v1/models": listing("one"), "/v1/messages": REFUSES_EMPTY}
    with SurveyedServer(pages) as server:
        found = await survey(server.root + given.rstrip("/"), None)
        assert server.paths.count("/v1/messages") == 1
    assert found[1:] == ("", ONE, "messages", "", OTHERS, "x-api-key")
    assert found.base_url.removesuffix("/v1") == server.root


async def test_an_api_below_another_path_is_found() -> None:
    with SurveyedServer({"/anthropic/v1/messages": REFUSES_EMPTY}) as server:
        found = await survey(f"{server.root}/anthropic", None)
    assert found == Survey(f"{server.root}/anthropic", "", (), "messages", "", OTHERS)


@pytest.mark.parametrize("also", ["chat/completions", "responses"])
async def test_a_server_that_has_another_way_is_asked_as_before(also: str) -> None:
    with SurveyedServer({f"/v1/{also}": REFUSES_EMPTY, "/v1/messages": REFUSES_EMPTY}) as server:
        found = await survey(server.url, None)
        assert "/v1/messages" not in server.paths, "nothing more is asked of it"
    assert found.via == ("chat" if also.startswith("chat") else "responses")


async def test_a_server_that_has_nothing_is_no_model_server() -> None:
    with SurveyedServer({"/v1/models": listing("one")}) as server:
        found = await survey(server.url, None)
    assert found.problem == "It has neither /chat/completions nor /responses nor /v1/messages."
    assert found.lacks == OTHERS | {"messages"}


@pytest.mark.parametrize("header", ["x-api-key", "authorization"])
async def test_the_header_that_the_server_wants_is_found(header: str) -> None:
    pages = {"/v1/models": behind(header, listing("one")), "/v1/messages": behind(header, REFUSES_EMPTY)}
    with SurveyedServer(pages) as server:
        found = await survey(server.url, "a-key")
    assert (found.models, found.via, found.problem) == (ONE, "messages", "")
    assert found.key_header == header


async def test_a_key_that_no_header_makes_valid_is_refused() -> None:
    with SurveyedServer({"/v1/models": NO_KEY, "/v1/messages": NO_KEY}) as server:
        found = await survey(server.url, "a-key")
    assert found.problem == "It refuses the API key."


@pytest.mark.parametrize(
    ("models", "found_models", "problem"),
    [(listing("one"), ONE, ""), (Status(404), (), ""), (NO_KEY, (), "It refuses the API key.")],
)
async def test_the_messages_api_of_a_known_provider_is_asked_for_its_list_alone(
    models: Status, found_models: tuple[ListedModel, ...], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anthropic has chat completions too, with less of Claude than its own API."""
    monkeypatch.setattr(room, "messages_provider", lambda _: BY_NAME["anthropic"])
    with SurveyedServer({**chats(models=models), "/v1/messages": REFUSES_EMPTY}) as server:
        found = await survey(server.root, "a-key")
        assert set(server.paths) == {"/v1/models"}
        assert server.asks[0].headers["x-api-key"] == "a-key"
    assert found == Survey(server.root, "anthropic", found_models, "messages", problem, OTHERS)
    assert found.provider == "anthropic"


async def test_a_chat_server_is_asked_with_its_usual_header() -> None:
    with SurveyedServer(chats(models=behind("authorization", listing("one")))) as server:
        found = await survey(server.url, "a-key")
        assert all("x-api-key" not in ask.headers for ask in server.asks)
    assert (found.via, found.models) == ("chat", ONE)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.anthropic.com", "anthropic"),
        ("https://api.anthropic.com/v1", "anthropic"),
        ("https://api.deepseek.com/anthropic", "deepseek"),
        ("https://api.deepseek.com", None),
        ("https://api.anthropic.com.example/v1", None),
        ("http://[", None),
    ],
)
def test_providers_are_known_by_the_addresses_of_their_messages_apis(url: str, name: str | None) -> None:
    known = messages_provider(url)
    assert (known and known.name) == name
    assert Survey(url, name or "", (), "messages", "").provider == name
