"""Every field of a request: it is in the prompt, or the client is warned or refused, or it is for this server alone."""

from typing import Any, Final

import msgspec
import pytest

from app.options import HINTS
from app.parsing.request_body import parse_request
from app.prompt.build import BuiltPrompt, build
from app.prompt.nouns import Hints, Prompt
from app.prompt.prompt_rules import PromptRules
from app.prompt.sealed_state import StateForm, merged
from app.protocol.problems import ProblemError
from app.protocol.request.create_response import KNOWN

FORM: Final = StateForm(merged, lambda _: "")
F: Final = {"type": "function", "name": "f"}
HERE: Final = "for this server alone"
REFUSED: Final = "refused"


FIELDS: Final[dict[str, list[tuple[Any, str]]]] = {
    "background": [(True, REFUSED), (False, HERE)],
    "context_management": [
        ([{"type": "compaction", "compact_threshold": 9}], HERE),
        ([{"type": "x"}], "warning: context_management[0]"),
    ],
    "frequency_penalty": [(0.5, "sampling")],
    "generate": [(False, HERE)],
    "include": [
        (["message.output_text.logprobs"], "sampling"),
        (["reasoning.encrypted_content"], HERE),
        (["file_search_call.results", "message.input_image.image_url"], HERE),
        (["of.tomorrow"], "warning: include[0]"),
    ],
    "input": [("Other", "entries")],
    "instructions": [("Be brief.", "entries")],
    "max_output_tokens": [(9, "sampling")],
    "max_tool_calls": [(1, HERE)],
    "metadata": [({"a": "b"}, "hints")],
    "model": [("other", HERE)],
    "parallel_tool_calls": [(False, "parallel_calls")],
    "presence_penalty": [(0.5, "sampling")],
    "prompt_cache_key": [("k", "hints")],
    "prompt_cache_options": [
        ({"mode": "explicit"}, "caching"),
        ({"ttl": "12h"}, "caching"),
        ({"prewarm": True}, "warning: prompt_cache_options.prewarm"),
        ({"of_tomorrow": 1}, "warning: prompt_cache_options.of_tomorrow"),
    ],
    "prompt_cache_retention": [("24h", "hints")],
    "reasoning": [
        ({"effort": "low"}, "effort"),
        ({"summary": "auto"}, HERE),
        ({"generate_summary": "auto"}, HERE),
        ({"mode": "standard"}, HERE),
        ({"context": "current_turn"}, HERE),
        ({"context": "of tomorrow"}, "warning: reasoning.context"),
        ({"mode": "pro"}, "warning: reasoning.mode"),
        ({"of_tomorrow": 1}, "warning: reasoning.of_tomorrow"),
    ],
    "safety_identifier": [("u", "hints")],
    "service_tier": [("flex", "hints"), ("of tomorrow", "warning: service_tier")],
    "store": [(False, HERE), (True, HERE)],
    "stream": [(True, HERE)],
    "stream_options": [
        ({"include_obfuscation": False}, HERE),
        ({"include_obfuscation": True}, "warning: stream_options.include_obfuscation"),
        ({"of_tomorrow": 1}, "warning: stream_options.of_tomorrow"),
    ],
    "temperature": [(0, "sampling")],
    "text": [({"verbosity": "low"}, "verbosity"), ({"format": {"type": "json_object"}}, "output")],
    "tool_choice": [("required", "choice"), ({"type": "function", "name": "g"}, REFUSED)],
    "tools": [([F, {**F, "name": "g"}], "functions"), ([F, {"type": "mcp"}], "warning: tools[1]")],
    "top_logprobs": [(2, "sampling")],
    "top_p": [(0.5, "sampling")],
    "truncation": [("auto", "warning: truncation"), ("disabled", HERE)],
    "user": [("u", "hints")],
}
"""Values of a field: each changes a field of the prompt, gives a warning, is refused, or is for this server alone."""


def built(hints: frozenset[str] = frozenset(Hints.__struct_fields__), **fields: Any) -> BuiltPrompt:
    """The prompt for a request with these fields, for an upstream that takes these hints."""
    request = parse_request(msgspec.json.encode({"model": "m", "input": "Hi", "tools": [F], **fields}))
    return build(request, rules=PromptRules(hints=hints), model="m", state_form=FORM)


def changed(prompt: Prompt, other: Prompt) -> list[str]:
    """The fields in which two prompts differ."""
    return [name for name in Prompt.__struct_fields__ if getattr(prompt, name) != getattr(other, name)]


def test_every_field_has_its_place() -> None:
    assert set(FIELDS) == KNOWN


def test_a_prompt_holds_every_hint_that_may_be_configured() -> None:
    assert Hints.__struct_fields__ == HINTS


@pytest.mark.parametrize(
    ("name", "value", "place"), [(name, *place) for name, places in FIELDS.items() for place in places]
)
def test_a_field_goes_to_its_place_and_nowhere_else(name: str, value: Any, place: str) -> None:
    if place == REFUSED:
        with pytest.raises(ProblemError) as raised:
            built(**{name: value})
        assert raised.value.problem.param == name
        return
    got, plain = built(**{name: value}), built()
    params = [f"warning: {warning.param}" for warning in got.warnings]
    places = changed(got.prompt, plain.prompt)
    if place == "warning: service_tier":  # it is passed on all the same
        places.remove("hints")
    assert params + places == [] if place == HERE else [place] == params + places


@pytest.mark.parametrize("name", Hints.__struct_fields__)
def test_a_hint_that_the_upstream_does_not_take_is_left_out(name: str) -> None:
    """Only a tier is missed: it is a price and a speed. The loss of any other hint changes no answer."""
    value, _ = FIELDS[name][0]
    got = built(frozenset(), **{name: value})
    assert (changed(got.prompt, built().prompt), [warning.param for warning in got.warnings]) == (
        [],
        ["service_tier"] if name == "service_tier" else [],
    )
