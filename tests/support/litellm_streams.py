"""Streams behind litellm."""

from typing import Any

from app.upstreams.litellm_chat import LitellmChat
from tests.support.upstream_asks import KEY, answer_of, answers, asks, server
from tests.wire.servers import Step

Json = dict[str, Any]


def usage(prompt: int, completion: int, *, cached: int = 0, written: int = 0, reasoning: int = 0) -> Json:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }


async def read_answer(provider: str | None, script: list[Step], **settings: Any) -> Json:
    with server(provider, script) as upstream:
        chat = LitellmChat(provider, api_key=KEY, base_url=upstream.url, timeout=30)
        chunks, problem = await answers(chat, asks(provider, **settings))
    assert problem is None
    return answer_of(chunks)
