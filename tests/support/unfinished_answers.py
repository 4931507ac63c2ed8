"""Answers that reach a limit, are filtered, cut or end in an error, and the stream for each."""

from app.emitter.deltas import Broke, CallArguments, Delta, ReasoningDelta, TextDelta
from tests.support.emitters import END, FILTERED, LENGTH, calls
from tests.support.sample_answers import HI, HI_DONE, HM, HM_DONE, OK, TOO_LONG

UNFINISHED: dict[str, tuple[list[Delta], list[str]]] = {
    "limit in text": (
        [TextDelta("Hi"), LENGTH],
        [*HI, *HI_DONE, "0 done message incomplete", "incomplete max_output_tokens"],
    ),
    "limit in a thought": (
        [ReasoningDelta("hm"), LENGTH],
        [*HM, *HM_DONE, "0 done reasoning incomplete", "incomplete max_output_tokens"],
    ),
    "limit in a call": (
        [TextDelta("Hi"), *calls(0, "f", '{"a', call_id="c"), LENGTH],
        [
            *HI,
            *HI_DONE,
            "0 done message completed",
            "1 added function_call f c",
            "1 says '{\"a'",
            "1 done function_call incomplete",
            "incomplete max_output_tokens",
        ],
    ),
    "limit before the arguments of a call": (
        [*calls(0, "f", call_id="c"), LENGTH],
        ["0 added function_call f c", "0 done function_call incomplete", "incomplete max_output_tokens"],
    ),
    "limit behind a whole call": (
        [*calls(0, "f", "{}", call_id="c"), LENGTH],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "incomplete max_output_tokens",
        ],
    ),
    "limit in a call beside one that became whole": (
        [*calls(0, "f", "{", call_id="c"), *calls(1, "g", "{", call_id="d"), CallArguments(0, "}"), LENGTH],
        [
            "0 added function_call f c",
            "0 says '{'",
            "1 added function_call g d",
            "1 says '{'",
            "0 says '}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 done function_call incomplete",
            "incomplete max_output_tokens",
        ],
    ),
    "limit in several calls": (
        [*calls(0, "f", "{", call_id="c"), *calls(1, "g", "{", call_id="d"), LENGTH],
        [
            "0 added function_call f c",
            "0 says '{'",
            "1 added function_call g d",
            "1 says '{'",
            "failed server_error",
        ],
    ),
    "limit before anything": ([LENGTH], ["incomplete max_output_tokens"]),
    "filter in text": (
        [TextDelta("Hi"), FILTERED],
        [*HI, *HI_DONE, "0 done message incomplete", "incomplete content_filter"],
    ),
    "the last reason holds": (
        [END, TextDelta("Hi"), LENGTH],
        [*HI, *HI_DONE, "0 done message incomplete", "incomplete max_output_tokens"],
    ),
    "cut before anything": ([], ["failed server_error"]),
    "cut in text": (
        [TextDelta("Hi")],
        [*HI, *HI_DONE, "0 done message incomplete", "failed server_error"],
    ),
    "cut in a thought": (
        [ReasoningDelta("hm")],
        [*HM, *HM_DONE, "0 done reasoning incomplete", "failed server_error"],
    ),
    "cut in a call": (
        [TextDelta("Hi"), *calls(0, "f", "{}", call_id="c")],
        [
            *HI,
            *HI_DONE,
            "0 done message completed",
            "1 added function_call f c",
            "1 says '{}'",
            "failed server_error",
        ],
    ),
    "an error before anything": ([Broke(TOO_LONG), TextDelta("Hi")], ["failed context_length_exceeded"]),
    "an error in text beside a call": (
        [*calls(0, "f", "{", call_id="c"), TextDelta("ok"), Broke(TOO_LONG)],
        [
            "0 added function_call f c",
            "0 says '{'",
            *OK,
            "1 done message incomplete",
            "failed context_length_exceeded",
        ],
    ),
    "arguments for no call": ([CallArguments(3, "{")], ["failed server_error"]),
    "arguments behind a call that is done": (
        [*calls(0, "f", "{}", call_id="c"), *calls(1, "g", call_id="d"), CallArguments(0, "x")],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 added function_call g d",
            "failed server_error",
        ],
    ),
}
