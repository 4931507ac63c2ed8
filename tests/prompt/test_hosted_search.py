"""What a client may say about a search that the model's own server runs: honoured, or a warning."""

from typing import Any, Final

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import ModelOptions
from app.protocol.problems import ProblemError
from tests.support import chat_requests, messages_requests

Json = dict[str, Any]

SEARCH: Final = {"type": "web_search"}
WEATHER: Final = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
OPTIONS: Final = ChatOptions(model=ModelOptions(web_search=True))
FILTERS: Final = {"allowed_domains": ["a.org"], "blocked_domains": ["b.org"]}


def lost(*names: str) -> list[str]:
    return [f"'{name}' of 'web_search' has no effect on this model's search." for name in names]


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"search_content_types": ["text"], "external_web_access": False}, []),
        ({"search_content_types": ["text", "image"]}, ["search_content_types"]),
        ({"filters": {"languages": ["de"]}, "depth": 3}, ["depth", "filters.languages"]),
    ],
)
def test_unknown_members(more: Json, names: list[str]) -> None:
    assert chat_requests.ask(OPTIONS, input="Hi", tools=[{**SEARCH, **more}]).warnings == lost(*names)


def test_a_chat_server_takes_no_domains_and_no_limit() -> None:
    asked = chat_requests.ask(OPTIONS, input="Hi", tools=[{**SEARCH, "filters": FILTERS}], max_tool_calls=2)
    assert asked.warnings == lost("filters.allowed_domains", "filters.blocked_domains", "max_tool_calls")
    assert asked.body["web_search_options"] == {}


@pytest.mark.parametrize("choice", [SEARCH, {"type": "allowed_tools", "mode": "required", "tools": [SEARCH]}])
def test_a_search_of_the_models_own_server_cannot_be_demanded(choice: Json) -> None:
    with pytest.raises(ProblemError) as refused:
        chat_requests.ask(OPTIONS, input="Hi", tools=[SEARCH, WEATHER], tool_choice=choice)
    problem = refused.value.problem
    assert (problem.code, problem.param) == ("invalid_value", "tool_choice")
    assert "'web_search', which the model's own server runs" in problem.message


@pytest.mark.parametrize(
    ("filters", "sent", "names"),
    [
        ({"blocked_domains": ["b.org"]}, {"blocked_domains": ["b.org"]}, []),
        (FILTERS, {"allowed_domains": ["a.org"]}, ["filters.blocked_domains"]),
    ],
)
def test_claude_takes_one_of_both_lists_and_a_limit(filters: Json, sent: Json, names: list[str]) -> None:
    asked = messages_requests.asked({"tools": [{**SEARCH, "filters": filters}], "max_tool_calls": 2})
    [tool] = asked.body["tools"]
    assert tool == {"type": "web_search_20250305", "name": "web_search", "max_uses": 2, **sent}
    assert asked.warnings == lost(*names)
