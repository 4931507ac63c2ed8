"""What changed first between the prompts of two requests, in every dialect."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import pytest

from app.dialects.chat.chat_options import ChatOptions
from app.options import ModelOptions
from app.prompt_cache.fingerprint import COARSE, FINE, Fingerprint, bytes_of, checks_in, fingerprint, offset_of
from app.prompt_cache.first_change import Change, continued, first_change
from app.prompt_cache.prefix import Prefix
from tests.support import chat_answers, messages_requests, relay_turns
from tests.support.cached_session import requests
from tests.support.chat_requests import assistant, call, output, user

Json = dict[str, Any]

MARKED: Final = ModelOptions(cache_control="auto")
CLAUDE: Final = "claude-sonnet-4-6"


def chat(**fields: Any) -> Prefix:
    return chat_answers.turn(**fields).prefix


def litellm(**fields: Any) -> Prefix:
    """Claude over litellm, with marks for its cache."""
    return chat_answers.turn(ChatOptions(marks_claude=True, model=MARKED), **fields).prefix


def messages(**fields: Any) -> Prefix:
    return messages_requests.turn(fields, model=MARKED).prefix


def relay(**fields: Any) -> Prefix:
    return relay_turns.new_turn(body=fields).prefix


DIALECTS: Final[list[Callable[..., Prefix]]] = [chat, litellm, messages, relay]


def tool(name: str, description: str = "Does it.") -> Json:
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    return {"type": "function", "name": name, "description": description, "parameters": parameters, "strict": False}


def text(words: str, **more: Any) -> Json:
    return {"type": "input_text", "text": words, **more}


CLIENTS_MARK: Final = {"prompt_cache_breakpoint": {"mode": "explicit"}}
TOOLS: Final = [tool("read"), tool("write"), tool("run")]
ITEMS: Final = [
    user("Repair the tests."), assistant("I look."), call("c1", arguments="{}"), output("c1", "one line\n" * 50),
    user("Go on."),
]  # fmt: skip
BASE: Final[Json] = {"instructions": "You are an agent. " * 40, "tools": TOOLS, "input": ITEMS}
LATER: Final = [*ITEMS, assistant("Done."), user("And now?")]


def printed(prefix: Prefix, **more: Any) -> Fingerprint:
    return fingerprint(prefix, **({"upstream": "up", "model": "m"} | more))


def change_between(make: Callable[..., Prefix], before: Json, now: Json) -> Change | None:
    prefix = make(**now)
    return first_change(printed(make(**before)), printed(prefix), prefix)


def replaced(items: list[Json], at: int, item: Json) -> list[Json]:
    return [*items[:at], item, *items[at + 1 :]]


SYSTEM_AT: Final = BASE["instructions"].index("agent", 300)
OTHER_SYSTEM: Final = BASE["instructions"][:SYSTEM_AT] + "Agent" + BASE["instructions"][SYSTEM_AT + 5 :]

GROWN: Final[dict[str, Json]] = {
    "the same": {},
    "only appended": {"input": LATER},
    "a mark of the client": {"input": [*ITEMS[:-1], user(text("Go on.", **CLIENTS_MARK))]},
    "a setting that no prompt depends on": {"temperature": 0.5, "max_output_tokens": 900},
}


@pytest.mark.parametrize("make", DIALECTS)
@pytest.mark.parametrize("now", GROWN.values(), ids=GROWN)
def test_nothing_changed(make: Callable[..., Prefix], now: Json) -> None:
    assert change_between(make, BASE, BASE | now) is None


@pytest.mark.parametrize("make", [litellm, messages, relay])
def test_a_part_appended_to_the_last_message_changes_nothing_before_it(make: Callable[..., Prefix]) -> None:
    longer = [*ITEMS[:-1], user(text("Go on."), text("Please."))]
    assert change_between(make, BASE, BASE | {"input": longer}) is None


@pytest.mark.parametrize("make", DIALECTS)
@pytest.mark.parametrize("calls_of", [1, 3])
def test_in_a_session_of_an_agent_nothing_changes(make: Callable[..., Prefix], calls_of: int) -> None:
    """Although the marks for the cache move from turn to turn."""
    bodies = list(requests(20, calls_of))
    assert [change_between(make, before, now) for before, now in pairwise(bodies)] == [None] * 19


NAMED: Final[dict[str, tuple[Json, tuple[str, str]]]] = {
    "a tool": ({"tools": [TOOLS[0], tool("write", "Writes."), TOOLS[2]]}, ("tools_changed", "tools[1] changed")),
    "a tool more": ({"tools": [*TOOLS, tool("find")]}, ("tools_changed", "tools[3] was added")),
    "a tool less": ({"tools": TOOLS[:2]}, ("tools_changed", "tools are fewer than before")),
    "the order of tools": (
        {"tools": [TOOLS[1], TOOLS[0], TOOLS[2]]},
        ("tools_changed", "tools[0] is another tool: they are the same in another order"),
    ),
    "tools and messages": ({"tools": TOOLS[:1], "input": LATER[1:]}, ("tools_changed", "tools are fewer than before")),
    "no instructions": ({"instructions": None}, ("input_changed", "the system prompt is shorter than before")),
    "a format": (
        {"text": {"format": {"type": "json_schema", "name": "x", "schema": {"type": "object", "properties": {},
         "additionalProperties": False}}}},
        ("text_format_changed", ""),
    ),
    "the effort": ({"reasoning": {"effort": "high"}}, ("reasoning_effort_changed", "")),
}  # fmt: skip


@pytest.mark.parametrize("make", DIALECTS)
@pytest.mark.parametrize(("now", "expected"), NAMED.values(), ids=NAMED)
def test_what_changed_is_named(make: Callable[..., Prefix], now: Json, expected: tuple[str, str]) -> None:
    change = change_between(make, BASE, BASE | now)
    assert change is not None
    assert (change.reason, expected[1] in change.words) == (expected[0], True), change.words


PLACES: Final[dict[Callable[..., Prefix], tuple[str, str, str]]] = {
    chat: ("messages[0] (system)", "messages[3] (tool)", "messages"),
    litellm: ("messages[0] (system)", "messages[3] (tool)", "messages"),
    messages: ("system", "messages[2] (user)", "messages"),
    relay: ("instructions", "input[3] (function_call_output)", "messages"),
}
"""Where each dialect has the system prompt, the output of the call, and all messages."""


@pytest.mark.parametrize("make", DIALECTS)
def test_a_change_in_the_middle_is_found_to_64_bytes(make: Callable[..., Prefix]) -> None:
    changed = "one line\n" * 30 + "two line\n" + "one line\n" * 19
    system, result, conversation = PLACES[make]
    for now, place in (
        ({"instructions": OTHER_SYSTEM}, system),
        ({"input": replaced(ITEMS, 3, output("c1", changed))}, result),
    ):
        body = BASE | now
        change = change_between(make, BASE, body)
        assert change is not None
        assert change.byte is not None
        assert change.words == f"{place} changed, near byte {change.byte:,} of {change.length:,}"
        exact = first_byte(make(**BASE), make(**body))
        assert change.byte <= exact < change.byte + FINE
    fewer = change_between(make, BASE, BASE | {"input": ITEMS[:1]})
    assert fewer is not None
    assert (fewer.place, fewer.how, fewer.reason) == (conversation, "fewer", "input_changed")


def first_byte(before: Prefix, now: Prefix) -> int:
    """The first byte that differs, by comparing all of them."""
    one, other = (b"".join(map(bytes_of, (*each.tools, *each.system, *each.messages))) for each in (before, now))
    return next(at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)


def test_another_model_or_upstream_comes_before_all_else() -> None:
    prefix = chat(**BASE | {"tools": []})
    before = printed(chat(**BASE))
    for more, place in (({"model": "other"}, "model"), ({"upstream": "other"}, "upstream")):
        change = first_change(before, printed(prefix, **more), prefix)
        assert change == Change("model_changed", place)
        assert (change.words, change.lost) == (f"{place} changed", 1)


def test_a_summary_is_the_reason_where_there_is_a_new_one() -> None:
    prefix = chat(**BASE | {"input": [user("What was said: nothing."), *ITEMS[-1:]]})
    change = first_change(printed(chat(**BASE)), printed(prefix, summaries=1), prefix)
    assert change is not None
    assert (change.reason, change.place) == ("context_compacted", "messages[1]")


def test_the_same_settings_in_the_relay_are_found_by_their_own_words() -> None:
    for now, words in (
        ({"prompt_cache_key": "k"}, "prompt_cache_key changed"),
        ({"text": {"verbosity": "low"}}, "text.verbosity changed"),
        ({"service_tier": "flex"}, "service_tier changed"),
    ):
        change = change_between(relay, BASE, BASE | now)
        assert change is not None
        assert change.words == words


@pytest.mark.parametrize("odd", [{"input": "Hi"}, {"text": None}, {"reasoning": None}, {"input": []}])
def test_whatever_the_relay_passes_on_has_a_fingerprint(odd: Json) -> None:
    assert printed(relay(**BASE | odd)).parts >= len(TOOLS)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 65_535, 65_536, 65_537, 65_536 + COARSE, 1_000_000])
def test_checks_cover_every_byte_of_a_part(size: int) -> None:
    text = "x" * max(size - 2, 0)  # quotes are around it
    prefix = Prefix(system=relay_turns.new_turn(body={"instructions": text}).prefix.system)
    record = printed(prefix)
    length = max(size, 2)
    assert (record.length, len(record.checks)) == (length, checks_in(length))
    assert offset_of(checks_in(length) - 1) < length <= offset_of(checks_in(length))


# which turn is the one before

OTHER: Final[Json] = {"instructions": "You write titles.", "input": "Repair the tests."}
MONDAY: Final[Json] = {"instructions": "You are an agent. " * 40 + "It is Monday.", "input": ITEMS[:1]}
TUESDAY: Final[Json] = {"instructions": "You are an agent. " * 40 + "It is Tuesday.", "input": ITEMS}


@pytest.mark.parametrize(
    ("known", "now", "expected"),
    [
        ([], BASE, None),
        ([BASE], BASE | {"input": LATER}, 0),
        ([BASE, OTHER], BASE | {"input": LATER}, 0),
        ([BASE, BASE | {"input": LATER}], BASE | {"input": [*LATER, user("More.")]}, 1),
        ([BASE | {"input": LATER}, BASE], BASE | {"input": [*LATER, user("More.")]}, 0),
        ([BASE, OTHER], BASE | {"tools": TOOLS[1:], "input": LATER}, 0),
        ([BASE | {"instructions": "A."}, OTHER], BASE | {"instructions": "B.", "input": LATER, "tools": []}, 0),
        ([BASE], OTHER, None),
        ([OTHER], BASE, None),
        ([BASE, BASE], BASE, 1),
        ([MONDAY, OTHER], TUESDAY, 0),
        ([MONDAY, MONDAY], TUESDAY | {"tools": TOOLS}, 1),
        ([MONDAY], MONDAY | {"instructions": "You write titles."}, None),
        ([MONDAY], TUESDAY | {"instructions": "You write titles."}, None),
        ([MONDAY], TUESDAY | {"input": ITEMS[1:]}, None),
        ([OTHER | {"tools": TOOLS}], BASE | {"tools": TOOLS[2:]}, 0),
    ],
)
def test_the_turn_before_is_the_one_that_has_most_in_common(known: list[Json], now: Json, expected: int | None) -> None:
    candidates = [(number, printed(chat(**body))) for number, body in enumerate(known)]
    found = continued(printed(chat(**now)), candidates)
    assert (None if found is None else found[0]) == expected


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ([BASE], 0),
        ([BASE | {"input": LATER}], 0),
        ([BASE | {"input": [*ITEMS[:-1], user("Stop.")]}], None),
        ([BASE, BASE | {"input": [user("Write a page.")]}], 0),
        ([BASE | {"input": [user("Write a page.")]}], None),
    ],
)
def test_a_turn_of_another_model_is_the_one_before_only_in_the_same_conversation(
    known: list[Json], expected: int | None
) -> None:
    candidates = [(number, printed(chat(**body), model="small")) for number, body in enumerate(known)]
    found = continued(printed(chat(**BASE | {"input": LATER}), model="large"), candidates)
    assert (None if found is None else found[0]) == expected
