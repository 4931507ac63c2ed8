"""The behaviours: what the scripted model answers, what the client is to ask, and what it must have at the end."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from tests.matrix import words


class Call(NamedTuple):
    """A call as the upstream makes it, and words of what the tool gives back."""

    name: str
    arguments: str
    gives: str = ""


def call(name: str, gives: str = "", **arguments: Any) -> Call:
    """A call with these arguments."""
    return Call(name, json.dumps(arguments, ensure_ascii=False), gives)


CALLS: Final[Mapping[str, Call]] = {
    "Paris": call("get_weather", words.degrees("Paris"), city="Paris"),
    "Rome": call("get_weather", words.degrees("Rome"), city="Rome"),
    "custom": call("run_code", words.RAN, input=words.CODE),
    "namespace": call("sky__look_up", words.degrees("Paris"), city="Paris"),
    "search": call("tool_search", query=words.QUERY),
    "found": call("get_weather", words.degrees("Paris"), city="Paris"),
    "picture": call("take_picture"),
}
"""What most clients' tools are called upstream."""


class Answer(NamedTuple):
    """What the model does when it is asked: it thinks, speaks and calls, in this order."""

    thinks: str = ""
    says: str = ""
    refuses: str = ""
    calls: tuple[str, ...] = ()
    silence: int = 0
    """Seconds behind the first piece."""
    ends: Literal["", "length", "error", "cut"] = ""
    status: int = 0
    """Of an error instead of an answer. 429 comes with Retry-After."""


class Cell(NamedTuple):
    """A behaviour."""

    answers: Sequence[Answer]
    """One an ask, the last one again and again."""
    told: Mapping[str, Any]
    """What the client has at the end; nothing else that is not empty. A tuple stands for any text with these words."""
    tools: tuple[str, ...] = ()
    thinks: bool = False
    schema: bool = False
    picture: bool = False
    retries: int = 0


WAIT: Final = 2
"""Seconds that the upstream tells in Retry-After."""
BOOM: Final = "Boom"
BROKE_OFF: Final = "The connection to the upstream broke off"
"""What a user reads of an upstream that closed its connection."""
DONE: Final = Answer(says=words.TEXT)
TEXT: Final = {"text": words.TEXT}
PARTIAL: Final = {"text": words.PARTIAL}

CELLS: Final[Mapping[str, Cell]] = {
    "text": Cell([DONE], TEXT),
    "reasoning": Cell([Answer(words.THOUGHT, words.TEXT)], {"reasoning": words.THOUGHT, **TEXT}, thinks=True),
    "parallel": Cell([Answer(calls=("Paris", "Rome")), DONE], {"calls": ["Paris", "Rome"], **TEXT}, ("weather",)),
    "thoughts": Cell(
        [Answer(words.THOUGHT, calls=("Paris",)), Answer(words.AGAIN, calls=("Rome",)), DONE],
        {"reasoning": words.THOUGHT + words.AGAIN, "calls": ["Paris", "Rome"], **TEXT},
        ("weather",),
        thinks=True,
    ),
    "custom": Cell([Answer(calls=("custom",)), DONE], {"input": words.CODE, **TEXT}, ("custom",)),
    "namespace": Cell([Answer(calls=("namespace",)), DONE], {"calls": ["Paris"], **TEXT}, ("namespace",)),
    "search": Cell(
        [Answer(calls=("search",)), Answer(calls=("found",)), DONE],
        {"query": words.QUERY, "calls": ["Paris"], **TEXT},
        ("search",),
    ),
    "schema": Cell([Answer(says=json.dumps(words.FOUND))], {"parsed": words.FOUND}, schema=True),
    "picture": Cell([DONE], TEXT, picture=True),
    "picture_back": Cell([Answer(calls=("picture",)), DONE], TEXT, ("picture",)),
    "refusal": Cell([Answer(refuses=words.REFUSAL)], {"refusal": words.REFUSAL}),
    "incomplete": Cell([Answer(says=words.PARTIAL, ends="length")], {**PARTIAL, "ended": "max_output_tokens"}),
    "failed_before": Cell([Answer(status=500)], {"error": (BOOM, "upstream_error")}),
    "failed_in": Cell([Answer(says=words.PARTIAL, ends="error")], {**PARTIAL, "error": (BOOM, "server_error")}),
    "wait": Cell([Answer(status=429), DONE], TEXT, retries=2),
    "cut": Cell([Answer(says=words.PARTIAL, ends="cut")], {**PARTIAL, "error": (BROKE_OFF, "server_error")}),
    "silence": Cell([Answer(says=words.TEXT, silence=3)], TEXT),
}
"""`silence` is three times as long as the server's `keep_alive` here."""
