"""Tokens, in the spellings of those who count them; every answer as it was recorded or documented."""

from typing import Any

import pytest

from tests.support.chat_answers import client_events, turn
from tests.wire.script import Chunk, chunk, says, stops, text_turn


def usage(
    read: int,
    wrote: int,
    *,
    cached: int = 0,
    written: int = 0,
    thought: int = 0,
    by_time: tuple[int, int] | None = None,
) -> dict[str, Any]:
    times = {} if by_time is None else {"ttl_30m_tokens": by_time[0], "ttl_12h_tokens": by_time[1]}
    details = {} if by_time is None else {"cache_write_tokens_details": times}
    return {
        "input_tokens": read,
        "output_tokens": wrote,
        "total_tokens": read + wrote,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written, **details},
        "output_tokens_details": {"reasoning_tokens": thought},
    }


def usage_chunk(prompt: int, completion: int, total: int, **more: Any) -> Chunk:
    result = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total, **more}
    return chunk(usage=result)


CASES: dict[str, tuple[list[Chunk], dict[str, Any]]] = {
    "OpenAI": (
        [
            usage_chunk(
                20, 9, 29,
                prompt_tokens_details={"cached_tokens": 8, "audio_tokens": 0},
                completion_tokens_details={"reasoning_tokens": 4},
            )
        ],
        usage(20, 9, cached=8, thought=4),
    ),
    "OpenRouter": (
        [usage_chunk(20, 9, 29, prompt_tokens_details={"cached_tokens": 8, "cache_write_tokens": 2}, cost=0.1)],
        usage(20, 9, cached=8, written=2),
    ),
    "OpenAI, which says how long it keeps a prompt": (
        [
            usage_chunk(
                20, 9, 29,
                prompt_tokens_details={
                    "cache_write_tokens": 5,
                    "cache_write_tokens_details": {"ttl_30m_tokens": 3, "ttl_12h_tokens": 2},
                },
            )
        ],
        usage(20, 9, written=5, by_time=(3, 2)),
    ),
    "Claude behind litellm, which says how long it keeps a prompt": (
        [
            usage_chunk(
                20, 9, 29,
                prompt_tokens_details={
                    "cache_write_tokens": 4,
                    "cache_creation_token_details": {"ephemeral_1h_input_tokens": 4},
                },
            )
        ],
        usage(20, 9, written=4, by_time=(0, 4)),
    ),
    "xAI, whose thoughts are in the total only": (
        [usage_chunk(20, 9, 129, completion_tokens_details={"reasoning_tokens": 100})],
        usage(20, 109, thought=100),
    ),
    "Gemini's chat endpoint, which does not tell them at all": ([usage_chunk(20, 9, 129)], usage(20, 109, thought=100)),
    "Gemini, whose search read something": (
        [usage_chunk(20, 109, 140, completion_tokens_details={"reasoning_tokens": 100})],
        usage(31, 109, thought=100),
    ),
    "DeepSeek": (
        [usage_chunk(20, 9, 29, prompt_cache_hit_tokens=16, prompt_cache_miss_tokens=4)],
        usage(20, 9, cached=16),
    ),
    "Moonshot": (
        [chunk({"index": 0, "delta": {}, "usage": {"prompt_tokens": 20, "completion_tokens": 9, "cached_tokens": 3}})],
        usage(20, 9, cached=3),
    ),
    "Mistral": ([usage_chunk(20, 9, 29, num_cached_tokens=3, prompt_audio_seconds=None)], usage(20, 9, cached=3)),
    "Perplexity": ([usage_chunk(20, 9, 29, reasoning_tokens=5, citation_tokens=700)], usage(20, 9, thought=5)),
    "Groq": ([chunk(x_groq={"usage": {"prompt_tokens": 20, "completion_tokens": 9}})], usage(20, 9)),
    "Claude, in its own words": (
        [
            chunk(usage={"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 3}),
            chunk(usage={"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 4}}),
        ],
        usage(15, 9, cached=7, written=3, thought=4),
    ),
    "Claude behind litellm": (
        [usage_chunk(15, 9, 24, cache_read_input_tokens=7, cache_creation_input_tokens=3)],
        usage(15, 9, cached=7, written=3),
    ),
    "a Responses server's words": (
        [
            chunk(
                usage={
                    "input_tokens": 20, "output_tokens": 9, "total_tokens": 29,
                    "input_tokens_details": {"cached_tokens": 7}, "output_tokens_details": {"reasoning_tokens": 2},
                }
            )
        ],
        usage(20, 9, cached=7, thought=2),
    ),
    "llama.cpp without usage": (
        [chunk(timings={"cache_n": 12, "prompt_n": 8, "predicted_n": 9, "prompt_ms": 1.5})],
        usage(20, 9, cached=12),
    ),
    "llama.cpp with usage": (
        [{**usage_chunk(20, 9, 29), "timings": {"cache_n": 12, "prompt_n": 8}}],
        usage(20, 9, cached=12),
    ),
    "Voxtral, whose sound is in the total only": (
        [usage_chunk(11, 15, 401, prompt_audio_seconds=30, prompt_tokens_details={"audio_tokens": 375})],
        usage(386, 15),
    ),
    "sound that the prompt's count holds, and thoughts in the total only": (
        [usage_chunk(400, 9, 509, prompt_tokens_details={"audio_tokens": 375})],
        usage(400, 109, thought=100),
    ),
    "sound and thoughts, both in the total only": (
        [
            usage_chunk(
                11, 15, 501,
                prompt_tokens_details={"audio_tokens": 375}, completion_tokens_details={"reasoning_tokens": 100},
            )
        ],
        usage(386, 115, thought=100),
    ),
    "a report without numbers behind a real one": ([usage_chunk(20, 9, 29), usage_chunk(0, 0, 0)], usage(20, 9)),
    "counts in two halves": ([usage_chunk(20, 0, 20), usage_chunk(0, 9, 9)], usage(20, 9)),
    "counts that grow": ([usage_chunk(20, 1, 21), usage_chunk(20, 5, 25), usage_chunk(20, 9, 29)], usage(20, 9)),
    "a total that is too small": ([usage_chunk(20, 9, 3)], usage(20, 9)),
    "nonsense": (
        [usage_chunk(20, 9, 29, prompt_tokens_details="x", cached_tokens=-3, reasoning_tokens=1e30)],
        usage(20, 9),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("chunks", "expected"), CASES.values(), ids=CASES.keys())
def test_usage_is_read_in_every_spelling(chunks: list[Chunk], expected: dict[str, Any]) -> None:
    """And is the upstream's own: nothing says that it is estimated."""
    chat_turn = turn()
    assert client_events(chat_turn, says("Hi"), stops(), *chunks)[-1]["response"]["usage"] == expected
    assert "usage" not in chat_turn.notes


def test_what_is_estimated_says_so() -> None:
    """In the response and in the log."""
    chat_turn = turn()
    last = client_events(chat_turn, *text_turn("Hello, world")[:-1])[-1]["response"]
    asked = last["usage"]["input_tokens"]
    assert last["usage"] == usage(asked, 3) | {"estimated": True}
    assert chat_turn.notes == {"usage": "estimated"}


NO_REPORTS: dict[str, Chunk] = {
    "zeros": usage_chunk(0, 0, 0),
    "nulls": chunk(usage={"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}),
    "an empty object": chunk(usage={}),
    "a total alone": chunk(usage={"total_tokens": 12}),
    "zeros in the choice": chunk({"index": 0, "delta": {}, "usage": {"prompt_tokens": 0, "completion_tokens": 0}}),
    "zeros of Groq": chunk(x_groq={"usage": {"prompt_tokens": 0, "completion_tokens": 0}}),
    "llama.cpp's times without counts": chunk(timings={"prompt_n": 0, "predicted_n": 0, "prompt_ms": 1.5}),
}


@pytest.mark.parametrize("report", NO_REPORTS.values(), ids=NO_REPORTS)
def test_a_report_without_numbers_is_estimated_as_no_report_is(report: Chunk) -> None:
    """A client that compacts by its token count would never do so otherwise."""
    chat_turn = turn()
    last = client_events(chat_turn, *text_turn("Hello, world")[:-1], report)[-1]["response"]
    asked = last["usage"]["input_tokens"]
    assert asked > 0
    assert last["usage"] == usage(asked, 3) | {"estimated": True}
    assert chat_turn.notes == {"usage": "estimated"}


def test_a_picture_is_estimated_by_what_pictures_cost() -> None:
    """Not by its base64: clients would throw their context away."""
    picture = f"data:image/png;base64,{'iVBORw0KGgo' * 100_000}"
    content = [{"type": "input_text", "text": "Look"}, {"type": "input_image", "image_url": picture}]
    usage = client_events(turn(input=[{"role": "user", "content": content}]), *text_turn("Hi")[:-1])[-1]["response"][
        "usage"
    ]
    assert 1_000 < usage["input_tokens"] < 1_100
