"""What is marked for the prompt cache, and how much of an agent's session is read from it."""

from typing import Any, Final

import pytest

from app.options import ModelOptions
from tests.support.cached_session import SESSIONS, TOOLS, check_uses, requests
from tests.support.chat_requests import assistant, call, output, user
from tests.support.messages_requests import asked
from tests.wire.servers.prompt_cache import PromptCache, blocks_of

Json = dict[str, Any]

MARK: Final = {"type": "ephemeral"}
HOUR: Final = {"type": "ephemeral", "ttl": "1h"}
AUTOMATIC: Final = ModelOptions()
BREAKPOINT: Final = {"prompt_cache_breakpoint": {"mode": "explicit"}}
TURNS: Final[Json] = {
    "instructions": "A.",
    "tools": TOOLS,
    "input": [user("1"), call("a"), output("a"), call("b"), output("b"), user("5"), assistant("6"), user("7")],
}


def marks(fields: Json, model: str = "claude-sonnet-4-6", options: ModelOptions = AUTOMATIC) -> list[tuple[int, Json]]:
    """The indices of the marked blocks among all, with their marks."""
    blocks = blocks_of(asked(fields, model, model=options).body)
    return [(index, block["cache_control"]) for index, block in enumerate(blocks) if "cache_control" in block]


def part(text: str, **more: Any) -> Json:
    """A part of a user's message."""
    return {"type": "input_text", "text": text, **more}


# tools 0 and 1, system 2, then: user 3, call 4, output 5, call 6, output 7 and user 8, assistant 9, user 10
AT_THE_END: Final = [(1, MARK), (2, MARK), (8, MARK), (10, MARK)]
TABLE: Final[list[tuple[str, Json, str, ModelOptions, list[tuple[int, Json]]]]] = [
    ("tools, system and the last two turns", TURNS, "claude-sonnet-4-6", AUTOMATIC, AT_THE_END),
    ("one turn alone", {"input": "Hi"}, "claude-sonnet-4-6", AUTOMATIC, [(0, MARK)]),
    ("not for others", TURNS, "kimi-k2", AUTOMATIC, []),
    ("for others if configured", TURNS, "kimi-k2", ModelOptions(cache_control="auto"), AT_THE_END),
    ("off", TURNS, "claude-sonnet-4-6", ModelOptions(cache_control="off"), []),
    (
        "for an hour if configured",
        {"input": "Hi"},
        "claude-sonnet-4-6",
        ModelOptions(cache_ttl="1h"),
        [(0, HOUR)],
    ),
    (
        "for an hour if the client wants it",
        {"input": "Hi", "prompt_cache_options": {"ttl": "12h"}},
        "claude-sonnet-4-6",
        AUTOMATIC,
        [(0, HOUR)],
    ),
    (
        "not for an hour because of OpenAI's default",
        {"input": "Hi", "prompt_cache_options": {"ttl": "30m"}},
        "claude-sonnet-4-6",
        AUTOMATIC,
        [(0, MARK)],
    ),
    (
        "the client's marks first, which separate parts",
        {"instructions": "A.", "tools": TOOLS, "input": [user(part("1", **BREAKPOINT), part("2"), part("3"))]},
        "claude-sonnet-4-6",
        AUTOMATIC,
        [(1, MARK), (2, MARK), (3, MARK), (5, MARK)],
    ),
    (
        "the latest three of the client's marks",
        {"tools": TOOLS, "input": [user(*[part(str(n), **BREAKPOINT) for n in range(5)], part("end"))]},
        "claude-sonnet-4-6",
        AUTOMATIC,
        [(4, MARK), (5, MARK), (6, MARK), (7, MARK)],
    ),
    (
        "only the client's marks",
        {
            "tools": TOOLS,
            "input": [user(*[part(str(n), **BREAKPOINT) for n in range(5)], part("end"))],
            "prompt_cache_options": {"mode": "explicit"},
        },
        "claude-sonnet-4-6",
        AUTOMATIC,
        [(3, MARK), (4, MARK), (5, MARK), (6, MARK)],
    ),
    ("no mark, no cache", {**TURNS, "prompt_cache_options": {"mode": "explicit"}}, "claude-sonnet-4-6", AUTOMATIC, []),
    (
        "an output that the client marked",
        {
            "input": [user("1"), call("a"), output("a", [part("2", **BREAKPOINT)]), user("3")],
            "prompt_cache_options": {"mode": "explicit"},
        },
        "claude-sonnet-4-6",
        AUTOMATIC,
        [(3, MARK)],
    ),
    (
        "marks that are switched off",
        {"input": [user(part("1", **BREAKPOINT))]},
        "claude-sonnet-4-6",
        ModelOptions(cache_control="off"),
        [],
    ),
]


@pytest.mark.parametrize(
    ("fields", "model", "options", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE]
)
def test_marks(fields: Json, model: str, options: ModelOptions, expected: list[tuple[int, Json]]) -> None:
    assert marks(fields, model, options) == expected


def test_equal_messages_are_marked_each() -> None:
    assert marks({"input": [user("Hi"), assistant("Hi"), user("Hi")]}) == [(0, MARK), (2, MARK)]


@pytest.mark.parametrize(("calls_of", "turn"), SESSIONS)
def test_a_session_of_thirty_turns_is_read_from_the_cache(calls_of: int, turn: int) -> None:
    cache = PromptCache()
    check_uses([cache.use(asked(fields, model=AUTOMATIC).body) for fields in requests(30, calls_of)], turn)
