"""How the same ask is put to chat different servers."""

from copy import deepcopy
from typing import Any

import pytest

from app.options import ChatCompat
from app.upstreams.chat_compat import shaped

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
    ("compat", "expected"),
    [
        (ChatCompat(), ASK),
        (ChatCompat(stream_options=False), changed("", "stream_options", None)),
        (ChatCompat(max_tokens_field="max_completion_tokens"), changed("", "max_tokens", "max_completion_tokens")),
        (ChatCompat(strict_tools=False), changed("tools", "strict", None)),
        (ChatCompat(system_role="developer"), AS_DEVELOPER),
        (ChatCompat(reasoning_field="reasoning"), changed("messages", "reasoning_content", "reasoning")),
        (ChatCompat(blank_reasoning=True), THOUGHTFUL),
        (ChatCompat(reasoning_field="none"), changed("messages", "reasoning_content", None)),
    ],
)
def test_an_ask_is_put_as_the_server_wants_it(compat: ChatCompat, expected: dict[str, Any]) -> None:
    given = deepcopy(ASK)
    assert shaped(given, compat) == expected
    assert given == ASK


def test_what_an_ask_does_not_say_is_not_added() -> None:
    ask = {"model": "m", "messages": []}
    unlike = ChatCompat(
        stream_options=False,
        max_tokens_field="max_completion_tokens",
        system_role="developer",
        strict_tools=False,
        reasoning_field="none",
    )
    assert shaped(ask, unlike) == ask
