"""Answers of a model, and the stream for each: every ordering rule of the emitter is used at least once."""

from app.emitter.deltas import AnnotationAdded, CallArguments, Delta, ReasoningDelta, RefusalTextDelta, TextDelta
from app.protocol.problems import Problem
from tests.support.emitters import END, FORBIDDEN, calls

CITATION = {"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 2}
TOO_LONG = Problem(code="context_length_exceeded", message="The input is longer than the model can read.")
HI = ["0 added message", "0.0 added output_text", "0.0 says 'Hi'"]
HI_DONE = ["0.0 said 'Hi'", "0.0 done output_text"]
HM = ["0 added reasoning", "0.0 added summary_text", "0.0 says 'hm'"]
HM_DONE = ["0.0 said 'hm'", "0.0 done summary_text"]
OK = ["1 added message", "1.0 added output_text", "1.0 says 'ok'", "1.0 said 'ok'", "1.0 done output_text"]

ANSWERS: dict[str, tuple[list[Delta], list[str]]] = {
    "text": (
        [TextDelta("H"), TextDelta("i"), END],
        [*HI[:2], "0.0 says 'H'", "0.0 says 'i'", *HI_DONE, "0 done message completed", "completed"],
    ),
    "nothing at all": ([END], ["completed"]),
    "only white space": ([TextDelta("\n"), TextDelta(" "), END], ["completed"]),
    "white space, then text": (
        [TextDelta("\n"), TextDelta("Hi"), END],
        [*HI[:2], "0.0 says '\\n'", HI[2], "0.0 said '\\nHi'", HI_DONE[1], "0 done message completed", "completed"],
    ),
    "white space within text": (
        [TextDelta("Hi"), TextDelta(" "), TextDelta(""), END],
        [*HI, "0.0 says ' '", "0.0 said 'Hi '", HI_DONE[1], "0 done message completed", "completed"],
    ),
    "white space before a call is forgotten": (
        [TextDelta("\n\n"), *calls(0, "f", "{}", call_id="c"), TextDelta("ok"), END],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            *OK,
            "1 done message completed",
            "completed",
        ],
    ),
    "only white space thought": ([ReasoningDelta("\n\n"), ReasoningDelta(""), END], ["completed"]),
    "white space thought before a thought": (
        [ReasoningDelta("\n"), ReasoningDelta("hm"), END],
        [
            *HM[:2],
            "0.0 says '\\nhm'",
            "0.0 said '\\nhm'",
            HM_DONE[1],
            "0 done reasoning completed",
            "completed",
        ],
    ),
    "thought, then text": (
        [ReasoningDelta("hm"), TextDelta("\n"), TextDelta("ok"), END],
        [
            *HM,
            *HM_DONE,
            "0 done reasoning completed",
            *OK[:2],
            "1.0 says '\\n'",
            "1.0 says 'ok'",
            "1.0 said '\\nok'",
            OK[4],
            "1 done message completed",
            "completed",
        ],
    ),
    "text, then thought, then text": (
        [TextDelta("Hi"), ReasoningDelta("hm"), TextDelta("ok"), END],
        [
            *HI,
            *HI_DONE,
            "0 done message completed",
            "1 added reasoning",
            "1.0 added summary_text",
            "1.0 says 'hm'",
            "1.0 said 'hm'",
            "1.0 done summary_text",
            "1 done reasoning completed",
            "2 added message",
            "2.0 added output_text",
            "2.0 says 'ok'",
            "2.0 said 'ok'",
            "2.0 done output_text",
            "2 done message completed",
            "completed",
        ],
    ),
    "refusal after text": (
        [TextDelta("Hi"), RefusalTextDelta("no"), RefusalTextDelta(""), RefusalTextDelta("!"), END],
        [
            *HI,
            *HI_DONE,
            "0.1 added refusal",
            "0.1 says 'no'",
            "0.1 says '!'",
            "0.1 said 'no!'",
            "0.1 done refusal",
            "0 done message completed",
            "completed",
        ],
    ),
    "text after a refusal, white space before it": (
        [TextDelta(" "), RefusalTextDelta("no"), TextDelta("Hi"), END],
        [
            "0 added message",
            "0.0 added refusal",
            "0.0 says 'no'",
            "0.0 said 'no'",
            "0.0 done refusal",
            "0.1 added output_text",
            "0.1 says 'Hi'",
            "0.1 said 'Hi'",
            "0.1 done output_text",
            "0 done message completed",
            "completed",
        ],
    ),
    "an empty refusal": ([RefusalTextDelta(""), END], ["completed"]),
    "citations": (
        [TextDelta("Hi"), AnnotationAdded(CITATION), AnnotationAdded(CITATION), END],
        [*HI, "0.0 cites 0", "0.0 cites 1", *HI_DONE, "0 done message completed", "completed"],
    ),
    "a citation of white space": (
        [TextDelta(" "), AnnotationAdded(CITATION), TextDelta("Hi"), END],
        [
            *HI[:2],
            "0.0 says ' '",
            "0.0 cites 0",
            HI[2],
            "0.0 said ' Hi'",
            HI_DONE[1],
            "0 done message completed",
            "completed",
        ],
    ),
    "a citation of nothing": (
        [AnnotationAdded(CITATION), END],
        [*HI[:2], "0.0 cites 0", "0.0 said ''", HI_DONE[1], "0 done message completed", "completed"],
    ),
    "text, then a call": (
        [TextDelta("Hi"), *calls(0, "f", '{"a"', ":1}", call_id="c"), END],
        [
            *HI,
            *HI_DONE,
            "0 done message completed",
            "1 added function_call f c",
            "1 says '{\"a\"'",
            "1 says ':1}'",
            "1 said '{\"a\":1}'",
            "1 done function_call completed",
            "completed",
        ],
    ),
    "a call without arguments or id": (
        [*calls(0, "f"), END],
        [
            "0 added function_call f call_AM-1",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "completed",
        ],
    ),
    "a call whose arguments are white space": (
        [*calls(0, "f", "", " ", call_id="c"), END],
        [
            "0 added function_call f c",
            "0 says ' '",
            "0 says '{}'",
            "0 said ' {}'",
            "0 done function_call completed",
            "completed",
        ],
    ),
    "a whole call is done as soon as another opens": (
        [*calls(0, "f", "{}", call_id="c"), *calls(1, "g", "{}", call_id="d"), END],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 added function_call g d",
            "1 says '{}'",
            "1 said '{}'",
            "1 done function_call completed",
            "completed",
        ],
    ),
    "white space behind a call that is done": (
        [*calls(0, "f", "{}", call_id="c"), *calls(1, "g", "{}", call_id="d"), CallArguments(0, "\n"), END],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 added function_call g d",
            "1 says '{}'",
            "1 said '{}'",
            "1 done function_call completed",
            "completed",
        ],
    ),
    "interleaved calls with the same id": (
        [
            *calls(0, "f", "{", call_id="c"),
            *calls(1, "g", "{", call_id="c"),
            CallArguments(0, "}"),
            CallArguments(1, "}"),
            END,
        ],
        [
            "0 added function_call f c",
            "0 says '{'",
            "1 added function_call g call_AM-2",
            "1 says '{'",
            "0 says '}'",
            "1 says '}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 said '{}'",
            "1 done function_call completed",
            "completed",
        ],
    ),
    "text while a call is not whole": (
        [*calls(0, "f", "{", call_id="c"), TextDelta("ok"), CallArguments(0, "}"), END],
        [
            "0 added function_call f c",
            "0 says '{'",
            *OK[:3],
            "0 says '}'",
            "0 said '{}'",
            "0 done function_call completed",
            *OK[3:],
            "1 done message completed",
            "completed",
        ],
    ),
    "a whole call, then a thought": (
        [*calls(0, "f", "{}", call_id="c"), ReasoningDelta("hm"), END],
        [
            "0 added function_call f c",
            "0 says '{}'",
            "0 said '{}'",
            "0 done function_call completed",
            "1 added reasoning",
            "1.0 added summary_text",
            "1.0 says 'hm'",
            "1.0 said 'hm'",
            "1.0 done summary_text",
            "1 done reasoning completed",
            "completed",
        ],
    ),
    "arguments that are no JSON are passed on": (
        [*calls(0, "f", "[" * 5000, call_id="c"), *calls(1, "g", "oops", call_id="d"), END],
        [
            "0 added function_call f c",
            f"0 says '{'[' * 5000}'",
            "1 added function_call g d",
            "1 says 'oops'",
            f"0 said '{'[' * 5000}'",
            "0 done function_call completed",
            "1 said 'oops'",
            "1 done function_call completed",
            "completed",
        ],
    ),
    "a tool the client ruled out": (
        [TextDelta("Hi"), *calls(0, FORBIDDEN, "{}", call_id="c"), TextDelta("!"), END],
        [*HI, "0.0 says '!'", "0.0 said 'Hi!'", HI_DONE[1], "0 done message completed", "completed"],
    ),
}
