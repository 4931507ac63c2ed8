"""Searches of earlier answers -> calls of this server's own functions, with what the client has kept of results."""

import json
from typing import Any, Final

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import ModelOptions
from app.prompt.past_searches import CLOSED, FAILED, FORGOTTEN, LONGEST, MOST_PAGES, ONLY_ADDRESSES
from tests.support.chat_requests import ask, assistant, user

Json = dict[str, Any]

OPTIONS: Final = ChatOptions(model=ModelOptions(search=True), searches=5, opened_pages=5)
A: Final = {"type": "url", "url": "https://a.org/1"}
CATS: Final = {"type": "search", "query": "cats"}
CALL: Final = {"query": "cats"}


def told(*items: Json, tool: Json | None = None, **options: Any) -> tuple[list[Json], list[str]]:
    """The messages that the model reads of these items, without the user's, and the warnings."""
    asked = ask(
        ChatOptions(model=ModelOptions(search=True), **{"searches": 5, "opened_pages": 5, **options}),
        input=[user("Hi"), *items, assistant("Cats."), user("More")],
        tools=[{"type": "web_search", **(tool or {})}],
    )
    return asked.body["messages"][1:-1], asked.warnings


def item(action: Any = CATS, **more: Any) -> Json:
    return {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action, **more}


ITEMS: Final[dict[str, tuple[Json, str, Json, str]]] = {
    "a search": (item({**CATS, "sources": [A]}), "web_search", CALL, f"{ONLY_ADDRESSES}\nhttps://a.org/1"),
    "with results": (
        item({**CATS, "sources": [A]}, results=[{**A, "title": "T", "snippet": "S"}, {**A, "title": 5}, {"url": 5}, 7]),
        "web_search",
        CALL,
        "T\nhttps://a.org/1\nS\nhttps://a.org/1",
    ),
    "without sources": (item(), "web_search", CALL, FORGOTTEN),
    "several queries": (
        item({"type": "search", "queries": ["cats", 5, "dogs"]}),
        "web_search",
        {"query": "cats, dogs"},
        FORGOTTEN,
    ),
    "no type": (item({"query": "cats"}), "web_search", CALL, FORGOTTEN),
    "one that failed": (item(status="failed"), "web_search", CALL, FAILED),
    "a page": (item({"type": "open_page", "url": A["url"]}), "open_page", {"url": A["url"]}, CLOSED),
    "words in a page": (
        item({"type": "find_in_page", "url": A["url"], "pattern": "x"}),
        "open_page",
        {"url": A["url"], "find": "x"},
        CLOSED,
    ),
    "no id": (item(id=None), "web_search", CALL, FORGOTTEN),
}


@pytest.mark.parametrize(("past", "name", "arguments", "output"), ITEMS.values(), ids=ITEMS)
def test_a_past_search_is_a_call_with_its_output(past: Json, name: str, arguments: Json, output: str) -> None:
    [called, answered, message], warnings = told(past)
    [call] = called["tool_calls"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == (name, arguments)
    assert (answered["tool_call_id"], answered["content"]) == (call["id"], output)
    assert message["content"] == "Cats."
    assert warnings == []


ODD: Final[list[Any]] = [
    None,
    5,
    {},
    {"type": "search"},
    {"type": "search", "query": 5},
    {"type": "open_page", "url": ""},
]


@pytest.mark.parametrize("action", ODD)
def test_an_item_that_does_not_say_what_was_wanted_is_text(action: Any) -> None:
    [message], warnings = told(item(action))
    assert message["content"].startswith("[web_search_call]")
    assert warnings == ["input[1] is sent as text: this model does not know 'web_search_call'."]


def test_a_page_is_text_for_a_model_that_opens_none() -> None:
    for options in ({"opened_pages": 0}, {"tool": {"external_web_access": False}}):
        [message], _ = told(item({"type": "open_page", "url": A["url"]}), **options)
        assert message["content"].startswith('[web_search_call] {"action":{"type":"open_page"')


def test_without_the_tool_it_is_text() -> None:
    asked = ask(OPTIONS, input=[user("Hi"), item(), assistant("Cats.")])
    assert asked.body["messages"][1]["content"].startswith("[web_search_call]")


def test_several_searches_keep_their_order_and_have_ids_of_their_own() -> None:
    messages, warnings = told(item(), item(id="ws_2"), item({"type": "open_page", "url": A["url"]}, id="ws_1"))
    assert [message["role"] for message in messages] == ["assistant", "tool"] * 3 + ["assistant"]
    assert len({message["tool_call_id"] for message in messages if message["role"] == "tool"}) == 3
    assert warnings == ["input[3] was given an id of its own: its call_id was used before."]


def test_what_a_client_sends_back_is_bounded() -> None:
    many = [{"type": "url", "url": f"https://a.org/{number}"} for number in range(5000)]
    [_, answered, _], _ = told(item({**CATS, "sources": many}))
    assert len(answered["content"].splitlines()) == MOST_PAGES + 1
    [_, answered, _], _ = told(item(results=[{**A, "snippet": "x" * 99_999}]))
    assert len(answered["content"]) == LONGEST + 1
