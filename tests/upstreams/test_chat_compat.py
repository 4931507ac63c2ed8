"""How the same ask is put to chat servers of different manners."""

from copy import deepcopy
from typing import Any

import pytest

from app.upstreams.chat_compat import ChatManners, shaped

ASK: dict[str, Any] = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello", "reasoning_content": "hm"},
        {"role": "assistant", "content": "Hello"},
    ],
    "max_tokens": 7,
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {}, "strict": True}}],
    "stream": True,
    "stream_options": {"include_usage": True},
}


def changed(path: str, key: str, new: str | None) -> dict[str, Any]:
    """The ask with one key of everything at `path` renamed, or taken off."""
    ask = deepcopy(ASK)
    places = {"": [ask], "tools": [ask["tools"][0]["function"]], "messages": ask["messages"]}[path]
    for place in places:
        if key in place:
            value = place.pop(key)
            if new:
                place[new] = value
    return ask


THOUGHTFUL = deepcopy(ASK)
THOUGHTFUL["messages"][3]["reasoning_content"] = " "

AS_DEVELOPER = deepcopy(ASK)
AS_DEVELOPER["messages"][0]["role"] = "developer"


@pytest.mark.parametrize(
    ("manners", "expected"),
    [
        (ChatManners(), ASK),
        (ChatManners(stream_options=False), changed("", "stream_options", None)),
        (ChatManners(max_tokens_field="max_completion_tokens"), changed("", "max_tokens", "max_completion_tokens")),
        (ChatManners(strict_tools=False), changed("tools", "strict", None)),
        (ChatManners(system_role="developer"), AS_DEVELOPER),
        (ChatManners(reasoning_field="reasoning"), changed("messages", "reasoning_content", "reasoning")),
        (ChatManners(blank_reasoning=True), THOUGHTFUL),
        (ChatManners(reasoning_field="none"), changed("messages", "reasoning_content", None)),
    ],
)
def test_an_ask_is_put_as_the_server_wants_it(manners: ChatManners, expected: dict[str, Any]) -> None:
    given = deepcopy(ASK)
    assert shaped(given, manners) == expected
    assert given == ASK


def test_what_an_ask_does_not_say_needs_no_manners() -> None:
    ask = {"model": "m", "messages": []}
    assert shaped(ask, ChatManners(False, "max_completion_tokens", "developer", False, "none")) == ask  # noqa: FBT003 — all of them
