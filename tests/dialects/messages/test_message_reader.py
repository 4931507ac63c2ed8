"""Each event of the Messages API, what it becomes, and that the blocks come back as they were."""

from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.chat_requests import output, user
from tests.support.messages_blocks import by_model, by_user, gave, words
from tests.support.messages_requests import ASKING, HI, answered, asked, events_of, turn
from tests.wire.servers.anthropic import begins, block, ends, text, thinking, tool_use

Json = dict[str, Any]

SUMMARY: Final = "summary_text"


def item_of(item: Json) -> Any:
    """What matters of an output item."""
    match item["type"]:
        case "message":
            return [part.get("text") or part.get("refusal") for part in item["content"]]
        case "reasoning":
            return ["".join(part["text"] for part in item["summary"]), "encrypted_content" in item]
        case _:
            return (item["name"], item["call_id"], item["arguments"])


def closed(index: int, kind: str, **start: Any) -> list[Json]:
    """A block that is complete when it begins."""
    return block(index, kind, **start)


TABLE: Final[dict[str, tuple[list[Json], list[Any]]]] = {
    "text": ([*text(0, "Hi", " there")], [["Hi there"]]),
    "text that comes with the beginning": ([*closed(0, "text", text="Hi")], [["Hi"]]),
    "adjacent text": ([*text(0, "Hi"), *text(1, " there")], [["Hi there"]]),
    "half characters": ([*text(0, "a\ud83d", "\ude00b")], [["a\U0001f600b"]]),
    "empty text": ([*text(0, ""), *text(1, "Hi")], [["Hi"]]),
    "a thought and text": ([*thinking(0, "hm"), *text(1, "Hi")], [["hm", True], ["Hi"]]),
    "two thoughts": ([*thinking(0, "a"), *thinking(1, "b"), *text(2, "c")], [["a", True], ["b", True], ["c"]]),
    "a thought without text": ([*thinking(0), *text(1, "Hi")], [["", True], ["Hi"]]),
    "text around a hidden thought": (
        [*text(0, "Hi"), *closed(1, "redacted_thinking", data="x"), *text(2, "there")],
        [["Hi"], ["", True], ["there"]],
    ),
    "a call": ([*tool_use(0, "f", "t1", '{"a"', ": 1}")], [("f", "t1", '{"a": 1}')]),
    "a call without arguments": ([*tool_use(0, "f", "t1")], [("f", "t1", "{}")]),
    "a call that comes whole": (
        [*closed(0, "tool_use", id="t1", name="f", input={"a": 1})],
        [("f", "t1", '{"a":1}')],
    ),
    "a thought between calls": (
        [*tool_use(0, "f", "t1", "{}"), *thinking(1, "hm"), *tool_use(2, "g", "t2", "{}")],
        [("f", "t1", "{}"), ["hm", True], ("g", "t2", "{}")],
    ),
    "blocks that all end after the last one": (
        [
            *thinking(0, "hm")[:2],
            *tool_use(1, "f", "t1", "{}")[:2],
            {"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": ""}},
            {"type": "content_block_stop", "index": 0},
            {"type": "content_block_stop", "index": 1},
        ],
        [["hm", True], ("f", "t1", "{}")],
    ),
    "blocks of the future": ([*closed(0, "dream", of="sheep"), *text(1, "Hi")], [["Hi"]]),
    "deltas of the future": (
        [*block(0, "text", {"type": "text_delta", "text": "Hi"}, {"type": "mood_delta", "mood": 1}, text="")],
        [["Hi"]],
    ),
    "a ping within": ([text(0, "Hi")[0], {"type": "ping"}, *text(0, "Hi")[1:]], [["Hi"]]),
    "a delta of no block": ([{"type": "content_block_delta", "index": 7, "delta": {}}, *text(0, "Hi")], [["Hi"]]),
    "no index": ([{**event, "index": None} for event in text(0, "Hi")], [["Hi"]]),
}


@pytest.mark.parametrize(("events", "items"), TABLE.values(), ids=TABLE)
def test_blocks_become_items(events: list[Json], items: list[Any]) -> None:
    response = answered([*begins(), *events, *ends()])
    assert [item_of(item) for item in response["output"]] == items
    assert response["status"] == "completed"


REASONS: Final = {
    "end_turn": ("completed", None),
    "stop_sequence": ("completed", None),
    "pause_turn": ("completed", None),
    "of_the_future": ("completed", None),
    "max_tokens": ("incomplete", "max_output_tokens"),
    "model_context_window_exceeded": ("incomplete", "max_output_tokens"),
    "refusal": ("incomplete", "content_filter"),
}


@pytest.mark.parametrize(("reason", "ending"), REASONS.items())
def test_an_answer_ends_for_its_reason(reason: str, ending: tuple[str, str | None]) -> None:
    response = answered([*begins(), *text(0, "Hi"), *ends(reason)])
    details = response["incomplete_details"]
    assert (response["status"], details and details["reason"]) == ending


def test_a_refusal_is_explained() -> None:
    delta = {"stop_reason": "refusal", "stop_details": {"type": "refusal", "explanation": "No poison."}}
    response = answered([*begins(), {"type": "message_delta", "delta": delta}, {"type": "message_stop"}])
    assert [item_of(item) for item in response["output"]] == [["No poison."]]


@pytest.mark.parametrize(
    "events",
    [
        [*begins(), *text(0, "Hi")],
        [*begins(), *text(0, "Hi"), {"type": "error", "error": {"type": "overloaded_error"}}],
        [*begins(), *closed(0, "tool_use", id="t1", input={})],
        [*begins(), "nonsense"],
        [],
    ],
    ids=["cut", "an error within", "a call without a name", "no object", "nothing"],
)
def test_an_answer_that_breaks_fails(events: list[Any]) -> None:
    assert answered(events)["status"] == "failed"


@pytest.mark.parametrize(
    ("events", "status", "goes_back"),
    [
        ([*thinking(0, "hm")[:-2]], "incomplete", False),
        ([*thinking(0, "hm")], "incomplete", True),
        ([*thinking(0, "hm"), *ends("max_tokens")], "incomplete", True),
        ([*thinking(0, "hm"), *text(1, "Hi"), *ends("max_tokens")], "completed", True),
        ([*thinking(0, "hm"), *ends()], "completed", True),
        ([*thinking(0, "hm")[:-1], *ends()], "completed", True),
    ],
    ids=["cut within", "cut behind it", "the limit behind it", "the limit in text", "nothing else", "not stopped"],
)
def test_a_thought_is_complete_if_something_followed_it(events: list[Json], status: str, goes_back: bool) -> None:  # noqa: FBT001 — a column
    item = answered([*begins(), *events])["output"][0]
    assert (item["type"], item["status"]) == ("reasoning", status)
    assert ("signature" in item["encrypted_content"]) is goes_back


def test_what_is_passed_over_is_said() -> None:
    told = turn(ASKING)
    events_of(told, [*begins(), *closed(0, "dream"), *text(1, "Hi"), {"type": "aside"}, *ends()])
    assert [warning.details for warning in told.late_warnings] == [
        "Parts of the answer that no client could be shown were left out: dream, aside."
    ]
    assert told.notes["parts_left_out"] == "dream, aside"


def test_an_answer_that_was_paused_says_so() -> None:
    told = turn(ASKING)
    events_of(told, [*begins(), *text(0, "Hi"), *ends("pause_turn")])
    assert [warning.feature for warning in told.late_warnings] == ["pause"]


USAGES: Final[list[tuple[Json, Json, tuple[int, int, int, int, int]]]] = [
    # at the beginning, at the end -> input, cached, written to the cache, output, reasoning
    ({"input_tokens": 5}, {"output_tokens": 7}, (5, 0, 0, 7, 0)),
    (
        {"input_tokens": 5, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 3},
        {"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 4}},
        (28, 20, 3, 7, 4),
    ),
    (
        {
            "input_tokens": 5,
            "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4},
        },
        {"output_tokens": 7},
        (12, 0, 7, 7, 0),
    ),
    ({"input_tokens": 5}, {"input_tokens": 9, "output_tokens": 7, "cache_read_input_tokens": None}, (9, 0, 0, 7, 0)),
    ({"input_tokens": -1, "output_tokens": "many"}, {"input_tokens": 1e99, "output_tokens": 7}, (0, 0, 0, 7, 0)),
]


@pytest.mark.parametrize(("first", "last", "usage"), USAGES)
def test_tokens_are_counted(first: Json, last: Json, usage: tuple[int, int, int, int, int]) -> None:
    start: Json = {"type": "message_start", "message": {"usage": first}}
    stop: Json = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}
    told = answered([start, *text(0, "Hi"), stop])["usage"]
    details = told["input_tokens_details"]
    assert (
        told["input_tokens"],
        details["cached_tokens"],
        details["cache_write_tokens"],
        told["output_tokens"],
        told["output_tokens_details"]["reasoning_tokens"],
    ) == usage
    assert told["total_tokens"] == told["input_tokens"] + told["output_tokens"]


def test_tokens_that_a_cache_keeps_are_counted_by_their_time() -> None:
    times = {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 4}
    start: Json = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_creation": times}}}
    told = answered([start, *text(0, "Hi"), *ends()])
    assert told["usage"]["input_tokens_details"]["cache_write_tokens_details"] == {
        "ttl_30m_tokens": 3,
        "ttl_12h_tokens": 4,
    }
    assert "tool_usage" not in told


def test_searches_of_the_server_are_counted_beside_its_tokens() -> None:
    """Those of a message that was carried on, too."""
    used = {"output_tokens": 7, "server_tool_use": {"web_search_requests": 2}}
    stop: Json = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": used}
    paused = [*begins(), {**stop, "delta": {"stop_reason": "pause_turn"}}]
    assert answered([*begins(), *text(0, "Hi"), stop])["tool_usage"] == {
        "image_gen": {
            "input_tokens": 0,
            "input_tokens_details": {"image_tokens": 0, "text_tokens": 0},
            "output_tokens": 0,
            "total_tokens": 0,
        },
        "web_search": {"num_requests": 2},
    }
    assert answered([*paused, *begins(), *text(0, "Hi"), stop])["tool_usage"]["web_search"] == {"num_requests": 4}


def test_without_usage_it_is_estimated() -> None:
    silent = [
        {"type": "message_start", "message": {}},
        *text(0, "Hi"),
        {"type": "message_delta", "delta": {"stop_reason": "x"}},
    ]
    assert answered(silent)["usage"]["estimated"] is True


KINDS: Final = ("text", "cited", "thinking", "silent", "redacted_thinking", "tool_use", "search")


def citation(index: int) -> Json:
    """What a text cites of a page that was found."""
    page = {"url": f"https://{index}.example", "title": None, "cited_text": "Words.", "encrypted_index": f"e{index}+/="}
    return {"type": "web_search_result_location", **page}


def sent(kind: str, index: int) -> tuple[list[Json], list[Json]]:
    """The events of a block, or of two that belong together, and what must come back."""
    signature = f"s{index}+/="
    match kind:
        case "text":
            return text(index, f"t{index}", " \u2028"), [words(f"t{index} \u2028")]
        case "cited":
            whole = {**words("cited"), "citations": [citation(index)]}
            cites = {"type": "citations_delta", "citation": citation(index)}
            return block(index, "text", {"type": "text_delta", "text": "cited"}, cites, text="", citations=[]), [whole]
        case "thinking" | "silent":
            thought = f" {index}\n" if kind == "thinking" else ""
            whole = {"type": "thinking", "thinking": thought, "signature": signature}
            return thinking(index, *thought, signature=signature), [whole]
        case "redacted_thinking":
            return closed(index, kind, data=signature), [{"type": kind, "data": signature}]
        case "search":
            search: Json = {"id": f"srvtoolu_{index}", "name": "web_search", "input": {"query": "q"}}
            page = {"type": "web_search_result", "url": "https://a.example", "encrypted_content": signature}
            found: Json = {"tool_use_id": search["id"], "content": [page]}
            both = {"server_tool_use": search, "web_search_tool_result": found}
            events = [event for name, fields in both.items() for event in closed(index, name, **fields)]
            return events, [{"type": name, **fields} for name, fields in both.items()]
        case _:
            call = {"type": "tool_use", "id": f"toolu_{index}", "name": "f", "input": {"n": index}}
            return tool_use(index, "f", f"toolu_{index}", f'{{"n": {index}}}'), [call]


@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=12))
def test_any_sequence_of_blocks_comes_back_as_it_was(kinds: list[str]) -> None:
    """Only adjacent texts without citations are joined. An answer of thoughts alone is left out: the API wants none."""
    pairs = [sent(kind, index) for index, kind in enumerate([*kinds, "text"])]
    blocks = [held for _, several in pairs for held in several]
    response = answered([*begins(), *[event for events, _ in pairs for event in events], *ends()])
    calls = [held["id"] for held in blocks if held["type"] == "tool_use"]
    items = [{key: value for key, value in item.items() if key not in {"id", "status"}} for item in response["output"]]
    again = asked(
        {"input": [HI, *items, *[output(call) for call in calls], user("Go")], "reasoning": {"effort": "low"}}
    )
    joined: list[Json] = []
    for held in blocks:
        if joined and joined[-1].keys() == held.keys() == {"type", "text"}:
            joined[-1] = words(joined[-1]["text"] + held["text"])
        else:
            joined.append(held)
    results = [gave(call, words("done")) for call in calls]
    assert again.body["messages"] == [by_user(words("Hi")), by_model(*joined), by_user(*results, words("Go"))]
    assert again.warnings == []
